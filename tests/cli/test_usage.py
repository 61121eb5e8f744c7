# SPDX-License-Identifier: Apache-2.0
"""Flags, help, and configuration files."""

import pytest

import command

VERBS = ("serve", "volumes", "snapshots", "pools", "doctor", "demo")
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
