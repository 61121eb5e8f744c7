# SPDX-License-Identifier: Apache-2.0
"""A software bill of materials in SPDX 2.3 JSON, from dpkg's information about each package."""

import datetime
import hashlib
import urllib.parse

NAMESPACE = "https://holdfast.dev/spdx"


def element(name):
    """Returns an SPDX identifier: letters, digits, dots and hyphens only."""
    return "SPDXRef-Package-" + name.replace("+", "-plus")


def debian_package(package):
    version = urllib.parse.quote(package.version, safe="")
    entry = {
        "SPDXID": element(package.name), "name": package.name, "versionInfo": package.version,
        "supplier": f"Person: {package.maintainer}", "downloadLocation": "NOASSERTION",
        "sourceInfo": f"built from the Debian source package {package.source}",
        "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
        "licenseComments": f"see /usr/share/doc/{package.name}/copyright of the package",
        "copyrightText": "NOASSERTION", "filesAnalyzed": False,
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:deb/debian/{package.name}@{version}"
                                              f"?arch={package.architecture}"}]}
    if package.sha256:
        entry["checksums"] = [{"algorithm": "SHA256", "checksumValue": package.sha256}]
    if package.homepage:
        entry["homepage"] = package.homepage
    return entry


def vendored_library(library):
    return {
        "SPDXID": element(library.name), "name": library.name, "versionInfo": library.version,
        "downloadLocation": f"git+https://github.com/{library.repository}@{library.commit}",
        "sourceInfo": f"third_party/{library.directory}: {library.part}",
        "licenseConcluded": library.licence, "licenseDeclared": library.licence,
        "copyrightText": "NOASSERTION", "filesAnalyzed": False,
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:github/{library.repository}@{library.version}"}]}


def driver_package(version, digest):
    return {
        "SPDXID": element("holdfast"), "name": "holdfast", "versionInfo": version,
        "downloadLocation": "NOASSERTION", "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION", "filesAnalyzed": False,
        "primaryPackagePurpose": "APPLICATION",
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}]}


def relation(kind, package):
    return {"spdxElementId": element("holdfast"), "relationshipType": kind,
            "relatedSpdxElement": element(package.name)}


def document(version, driver, epoch, shipped, linked, vendored):
    """`shipped` packages have files in the image; code of `linked` packages and of `vendored` libraries
    is in the driver."""
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
    digest = hashlib.sha256(driver.read_bytes()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"holdfast-{version}",
        "documentNamespace": f"{NAMESPACE}/holdfast-{version}-{digest}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: holdfast scripts/image"]},
        "packages": [driver_package(version, digest),
                     *(debian_package(package) for package in [*shipped, *linked]),
                     *(vendored_library(library) for library in vendored)],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
             "relatedSpdxElement": element("holdfast")},
            *(relation("DEPENDS_ON", package) for package in shipped),
            *(relation("STATIC_LINK", package) for package in [*linked, *vendored])]}
