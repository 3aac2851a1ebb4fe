"""Runs scripts as Python alone would, each in a fork of one process that has imported PyTorch.

To import it takes three seconds of a core, and what a script gives is the same in a fork. What stoker starts is never
run here, nor what asks for variables that are read at an import, as OMP_NUM_THREADS.
"""

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile

_servers = {}


def run(path, *args, imports=("torch", "torchvision"), env=None, cwd=None):
    """As subprocess.run([sys.executable, path, *args], capture_output=True, text=True)."""
    start(imports)
    request = {"argv": [path, *args], "environment": dict(os.environ if env is None else env), "folder": cwd or os.getcwd()}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        line, _ = _servers[imports]
        socket.send_fds(line, [json.dumps(request).encode()], [out.fileno(), err.fileno()])
        status = line.recv(100)
        assert status, "the process that forks has ended"
        out.seek(0), err.seek(0)
        return subprocess.CompletedProcess(request["argv"], os.waitstatus_to_exitcode(int(status)), out.read(), err.read())


def start(imports):
    """Start the process that forks, if none does so far. It ends once this one has, and it is no single test's."""
    import leash

    if imports in _servers:
        return
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(leash.PATIENCE)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {leash.MARKER: leash.OF_ALL, "TEST_LEASH_GUARD": "1"}
    with theirs:
        command = [sys.executable, os.path.abspath(__file__), str(theirs.fileno()), *imports]
        process = subprocess.Popen(command, env=env, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _servers[imports] = ours, process
    atexit.register(_end, ours, process)


def _end(line, process):
    line.close()
    process.wait()


def _fork_for_each(line):
    """In a fork, the request that it is for."""
    while True:
        data, files, _, _ = socket.recv_fds(line, 1 << 20, 2)
        if not data:
            os._exit(0)
        pid = os.fork()
        if not pid:
            line.close()
            for file, number in zip(files, (1, 2)):
                os.dup2(file, number)
            os.closerange(3, 3 + max(files))
            return json.loads(data)
        for file in files:
            os.close(file)
        line.send(str(os.waitpid(pid, 0)[1]).encode())


def _become(argv, environment, folder):
    """Give this process the arguments, environment and folder of a script; return its main module."""
    import types

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = argv
    paths = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:1] = [os.path.dirname(os.path.abspath(argv[0])), *paths]
    main = sys.modules["__main__"] = sys.modules["__mp_main__"] = types.ModuleType("__main__")  # the second as multiprocessing does
    vars(main).update(__file__=argv[0], __builtins__=__builtins__)
    return main


if __name__ == "__main__":
    for _name in sys.argv[2:]:
        __import__(_name)
    _main = _become(**_fork_for_each(socket.socket(fileno=int(sys.argv[1]))))
    with open(sys.argv[0]) as _file:
        _code = compile(_file.read(), sys.argv[0], "exec")
    exec(_code, vars(_main))
