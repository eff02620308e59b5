"""Measures one turn of longhaul and of the SDK's tool runner, against the same server, in turns.

A turn is a request with all that was said so far, a streamed reply and one call of the memory tool, which creates a file.
Two lengths are played: what the longer one takes more is the turns alone, without start and end.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
LONGHAUL = HERE.parent.parent / "target/release/longhaul"
SHORT = 50
LEAST_CPU, LEAST_MEMORY = 5, 10
SETTINGS = ["sandbox.mode=off", "budget.turns_per_session=0", "budget.tokens=1000000000", "recall.extract=false"]


def script(turns, to):
    """What the model says to a "session" or, to whoever has no tool to hand over, at its "side": so many turns with one call
    each, and a last word."""
    text = "A line of a note, of some length, as a model writes it.\\n" * 8
    call = '{ name = "memory", input = { command = "create", path = "/memories/work/%04d.md", file_text = "' + text + '" } }'
    reply = f'[[{to}.reply]]\ntext = "I write this down and go on."\ntools = [{call}]\n'
    said = f"[[{to}]]\n" + "".join(reply % turn for turn in range(turns)) + f'[[{to}.reply]]\ntext = "Done."\n'
    # A script has a session, though here nobody holds it.
    return said if to == "session" else '[[session]]\n[[session.reply]]\ntext = "Done."\n' + said


class Server:
    """The scripted model."""

    def __init__(self, folder, turns, to):
        path = folder / "script.toml"
        path.write_text(script(turns, to))
        self.process = subprocess.Popen([LONGHAUL, "rehearse", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.base_url = self.process.stdout.readline().strip().removeprefix("base_url=")

    def end(self):
        self.process.send_signal(2)
        complaints = self.process.communicate()[1]
        assert "refused" not in complaints, complaints


def watch(process):
    """Waits for a process; returns its exit code, seconds of CPU, seconds in all, and in MiB the peaks of its memory: what is
    its own, and what is resident, with the pages of program files that it has in common with others."""
    start, own, resident = time.monotonic(), 0, 0
    while True:
        # Not from the resources it used: they hold what the process was before it began.
        status = dict(line.split(":", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines())
        own = max(own, int(status.get("RssAnon", "0 kB").split()[0]))
        resident = max(resident, int(status.get("VmHWM", "0 kB").split()[0]))
        ended, code, used = os.wait4(process.pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(code)
            return code, used.ru_utime + used.ru_stime, time.monotonic() - start, own / 1024, resident / 1024
        time.sleep(0.005)


def git(folder, *words):
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def longhaul(folder, turns):
    """One session of a run."""
    project = folder / "project"
    project.mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "ANTHROPIC_API_KEY": "any"}

    def command(*words):
        subprocess.run([LONGHAUL, *words], cwd=project, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    git(project, "init", "-q")
    git(project, "commit", "-q", "--allow-empty", "-m", "start")
    command("init")
    command("feature", "add", "--id", "a", "--title", "a", "--check", "test -f a")
    server = Server(folder, turns, "session")
    environment["ANTHROPIC_BASE_URL"] = server.base_url
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    with (folder / "told").open("w") as told:
        words = [LONGHAUL, "run", "--sessions", "1", *settings]
        code, *measured = watch(subprocess.Popen(words, cwd=project, env=environment, stderr=told))
    assert code == 3, (folder / "told").read_text()
    server.end()
    written = list((project / ".longhaul/memory/work").iterdir())
    assert len(written) == turns, len(written)
    return measured


def sdk(folder, turns):
    server = Server(folder, turns, "side")
    words = [sys.executable, HERE / "sdk.py", server.base_url, folder / "memory"]
    code, *measured = watch(subprocess.Popen(words))
    assert code == 0, "the SDK's run failed"
    server.end()
    written = list((folder / "memory/memories/work").iterdir())
    assert len(written) == turns, len(written)
    return measured


def measure(turns, rounds):
    """Returns CPU and wall time of one turn in milliseconds and the peaks in MiB, of each, over the rounds."""
    found = {longhaul: [], sdk: []}
    for _ in range(rounds):
        for contestant, all_of_it in found.items():
            runs = []
            for length in (SHORT, SHORT + turns):
                with tempfile.TemporaryDirectory() as folder:
                    runs.append(contestant(Path(folder), length))
            (cpu, wall, *_), (longer_cpu, longer_wall, *peaks) = runs
            all_of_it.append(((longer_cpu - cpu) / turns * 1000, (longer_wall - wall) / turns * 1000, *peaks))
    return [[statistics.median(column) for column in zip(*all_of_it)] for all_of_it in found.values()]


def main():
    turns, rounds = (list(map(int, sys.argv[1:])) + [300, 5][len(sys.argv) - 1 :])[:2]
    ours, theirs = measure(turns, rounds)
    print(f"{turns} turns after the first {SHORT}, medians of {rounds} rounds; memory: the peak of its own, and the resident one")
    print(f"{'':24}{'CPU a turn':>13}{'time a turn':>13}{'own memory':>13}{'resident':>13}")
    for name, (cpu, wall, own, resident) in (("longhaul", ours), ("the SDK's tool runner", theirs)):
        print(f"{name:24}{cpu:10.2f} ms{wall:10.2f} ms{own:9.1f} MiB{resident:9.1f} MiB")
    times = (their / our for our, their in zip(ours, theirs))
    print(f"{'the SDK, in times':24}" + "".join(f"{ratio:13.1f}" for ratio in times))
    print(f"{'the bar':24}{LEAST_CPU:13}{'':13}{LEAST_MEMORY:13}{LEAST_MEMORY:13}")


if __name__ == "__main__":
    main()
