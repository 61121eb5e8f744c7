# SPDX-License-Identifier: Apache-2.0
"""Flags, help, and configuration files."""

import pathlib
import re
import subprocess

import pytest

import command

VERBS = ("serve", "volumes", "snapshots", "pools", "nodes", "leftovers", "trash", "top", "node",
         "audit", "delete-volumes", "doctor", "demo", "completion", "man")
USAGE = 2


@pytest.mark.parametrize("verb", VERBS)
def test_help_teaches_with_an_example(holdfast, verb):
    result = holdfast(verb, "--help")
    assert result.returncode == 0
    options, _, examples = result.stdout.partition("Example")
    assert "--help" in options
    assert f"\n  holdfast {verb}" in examples


def test_help_lists_every_verb(holdfast):
    result = holdfast("--help")
    assert result.returncode == 0
    for verb in VERBS:
        assert f"\n  {verb} " in result.stdout


def test_version(holdfast):
    result = holdfast("--version")
    name, version = result.stdout.split()
    assert (result.returncode, name) == (0, "holdfast")
    assert len(version.split(".")) == 3


@pytest.mark.parametrize("words, message", [
    (("serve", "--nodeid=a"), "unknown flag '--nodeid'; did you mean '--node-id'?"),
    (("serve", "--linkTls=/a"), "unknown flag '--linkTls'; did you mean '--link-tls'?"),
    (("doctor", "--pools=a"), "unknown flag '--pools'; did you mean '--pool'?"),
    (("serve", "--frobnicate=a"), "unknown flag '--frobnicate'\n"),
    (("serve", "-x"), "unknown flag '-x'\n"),
    (("serve", "word"), "unexpected word 'word': `holdfast serve` takes only flags"),
    (("serv",), "unknown verb 'serv'; did you mean 'serve'?"),
    (("serve", "--role"), "--role needs a value"),
    (("serve", "--role=all", "--role=node"), "--role may be given once"),
    (("serve", "--attach=perhaps"), "--attach: 'perhaps' must be true or false"),
])
def test_a_typing_mistake_is_explained(holdfast, words, message):
    error = command.refused(holdfast(*words), USAGE, f"holdfast: {message}")
    assert "--help" in error or "must be" in error


@pytest.mark.parametrize("verb", VERBS)
def test_unknown_flag_is_named(holdfast, verb):
    command.refused(holdfast(verb, "--frobnicate"), USAGE, "--frobnicate")


def test_unknown_verb_is_named(holdfast):
    command.refused(holdfast("frobnicate"), USAGE, "frobnicate")


def test_no_verb_shows_the_verbs(holdfast):
    command.refused(holdfast(), USAGE, "serve", "doctor")


@pytest.mark.parametrize("verb", ("volumes", "snapshots", "pools", "doctor"))
def test_unknown_output_is_named(holdfast, verb):
    command.refused(holdfast(verb, "--output", "xml"), USAGE, "xml", "json")


@pytest.mark.parametrize("flag, word", [
    ("--pool=default=file:relative", "absolute"),
    ("--pool=default=file:/srv,colour=blue", "colour"),
    ("--pool=default=file:/srv,fs=zfs", "zfs"),
    ("--pool=default=tape:/srv", "tape"),
    ("--role=both", "both"),
    ("--log-level=loud", "loud"),
    ("--max-volumes=-1", "maxVolumes"),
    ("--endpoint=tcp://localhost:1", "tcp://localhost:1"),
    ("--node-id=a/b", "a/b"),
    ("--topology=zone", "KEY=VALUE"),
    ("--topology=A.b/zone=a", "topology: prefix 'A.b'"),
    ("--topology=topology.csi.holdfast.dev/node=a", "the driver's own"),
    ("--pool=default=file:/srv,topology=zone=a", "topology"),
])
def test_serve_refuses_what_it_does_not_know(holdfast, directory, flag, word):
    pool = () if flag.startswith("--pool") else (f"--pool=default=file:{directory}",)
    command.refused(holdfast("serve", f"--state-dir={directory}/state",
                             *(() if flag.startswith("--endpoint")
                               else (f"--endpoint=unix://{directory}/csi.sock",)),
                             *pool, flag), USAGE, word)


@pytest.mark.parametrize("verb", ("serve", "doctor"))
@pytest.mark.parametrize("yaml, word", [
    ("colour: blue\n", "line 1: unknown setting 'colour'; known: "),
    ("\nstatedir: /a\n", "line 2: unknown setting 'statedir'; did you mean 'stateDir'?"),
    ("pools:\n  - name: a\n    file: /srv\n    colour: blue\n", "unknown key 'colour'; known: "),
    ("pools:\n  - name: a\n    file: /srv\n    watermrk: 9%\n", "did you mean 'watermark'?"),
    ("pools: {name: a}\n", "pools"),
    ("maxVolumes: many\n", "line 1"),
    ("role: [all\n", "line"),
])
def test_unknown_setting_in_the_file_is_named(holdfast, directory, verb, yaml, word):
    path = directory / "config.yaml"
    path.write_text(yaml)
    command.refused(holdfast(verb, "--config", path), USAGE, word, str(path))


@pytest.mark.parametrize("verb", ("serve", "doctor"))
def test_missing_configuration_file_is_named(holdfast, directory, verb):
    path = directory / "config.yaml"
    command.refused(holdfast(verb, "--config", path), 1, str(path))


def names_in_help(holdfast, verb):
    """The long flags that the verb's help lists."""
    options, _, _ = holdfast(verb, "--help").stdout.partition("Example")
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", options))


def complete(holdfast, *words):
    """What bash offers for the last of the words."""
    script = holdfast("completion", "bash").stdout + """
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_holdfast
printf '%s\\n' "${COMPREPLY[@]}"
"""
    done = subprocess.run(["bash", "-c", script, "bash", "holdfast", *words], capture_output=True,
                          text=True, check=True, timeout=60)
    return done.stdout.split()


def test_bash_completes_verbs_and_flags(holdfast):
    assert set(complete(holdfast, "")) == set(VERBS)
    assert complete(holdfast, "vol") == ["volumes"]
    for verb in VERBS:
        assert set(complete(holdfast, verb, "--")) == names_in_help(holdfast, verb)
    assert complete(holdfast, "volumes", "--names") == ["--namespace"]
    assert complete(holdfast, "volumes", "--output", "w") == ["wide"]
    assert complete(holdfast, "completion", "b") == ["bash"]


def test_completion_of_another_shell_is_a_usage_error(holdfast):
    command.refused(holdfast("completion", "tcsh"), USAGE, "tcsh")


def test_the_manual_page_has_every_verb_and_flag(holdfast):
    page = holdfast("man").stdout
    plain = page.replace("\\-", "-")
    for verb in VERBS:
        section = re.split(rf"\n\.SS holdfast {verb}(?=[ \n])", plain)[1].split("\n.SS ", 1)[0]
        for flag in names_in_help(holdfast, verb):
            assert f"\\fB{flag}\\fR" in section
    committed = pathlib.Path(__file__).resolve().parents[2] / "docs/man/holdfast.1"
    assert committed.read_text() == page, "run: build/release/holdfast man > docs/man/holdfast.1"


def test_the_completion_of_the_package_is_the_programs(holdfast):
    script = holdfast("completion", "bash").stdout
    committed = pathlib.Path(__file__).resolve().parents[2] / "deploy/completion/holdfast.bash"
    assert committed.read_text() == script, (
        "run: build/release/holdfast completion bash > deploy/completion/holdfast.bash")
