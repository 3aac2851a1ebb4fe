"""What make installs on a machine that lacks it: tools/install-tool, `make go`, python/install-torch."""

import base64
import functools
import hashlib
import http.server
import importlib.machinery
import importlib.util
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile
from contextlib import redirect_stderr
from unittest import mock

import leash  # noqa: F401  ends what a test starts

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
MODULES = os.environ.get("GOMODCACHE") or os.path.join(os.environ.get("GOPATH") or os.path.expanduser("~/go"), "pkg", "mod")
WHEEL = "made-1.0-py3-none-any.whl"


def load():
    path = os.path.join(ROOT, "tools", "install-tool")
    loader = importlib.machinery.SourceFileLoader("install_tool", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("install_tool", loader))
    with mock.patch.object(sys, "dont_write_bytecode", True):
        loader.exec_module(module)
    return module


install_tool = load()


def zipped(files):
    """A zip of names and contents; a content of (text, mode) has that mode."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            content, mode = content if isinstance(content, tuple) else (content, 0o644)
            info.external_attr = mode << 16
            archive.writestr(info, content)
    return out.getvalue()


class Server(http.server.ThreadingHTTPServer):
    """Answers with what it is given, by path, and notes what was asked."""

    daemon_threads = True

    def __init__(self, pages):
        super().__init__(("127.0.0.1", 0), Answer)
        self.pages, self.asked = pages, []
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = "http://127.0.0.1:%d" % self.server_port


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        content = self.server.pages.get(self.path)
        if content is None:
            self.send_error(404)
            return
        if isinstance(content, str) and content.startswith("->"):
            self.send_response(302)
            self.send_header("Location", content[2:])
            self.end_headers()
            return
        cut = isinstance(content, list)  # the connection breaks behind what is in the list
        content = content[0] if cut else content
        self.send_response(200)
        self.send_header("Content-Length", str(len(content) + 1000 * cut))
        self.end_headers()
        self.wfile.write(content if isinstance(content, bytes) else content.encode())

    def log_message(self, *_):
        pass


class Setting(unittest.TestCase):
    """A home for tools, an index of one wheel, and an environment that names nothing else."""

    def setUp(self):
        self.home = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.home, True)
        environment = {"PATH": os.environ["PATH"], "HOME": self.home, "PIP_CONFIG_FILE": os.devnull, "GOENV": "off"}
        patched = mock.patch.dict(os.environ, environment, clear=True)
        patched.start()
        self.addCleanup(patched.stop)
        slept = mock.patch.object(install_tool.time, "sleep")
        slept.start()
        self.addCleanup(slept.stop)

    def serve(self, pages):
        server = Server(pages)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def index(self, content, more=None):
        """A server of the wheel, named by PIP_INDEX_URL."""
        page = '<!DOCTYPE html><a href="/other-1.0.whl">x</a>\n<a data-x="&gt;" href="../../files/%s#sha256=00">%s</a>' % (WHEEL, WHEEL)
        server = self.serve({"/simple/made/": page, "/files/" + WHEEL: content, **(more or {})})
        os.environ["PIP_INDEX_URL"] = server.url + "/simple/"
        return server

    def tool(self, content, name="made", archive=WHEEL, wanted=None, program="made/run"):
        machine = install_tool.platform.machine()
        self.enterContext_(mock.patch.dict(install_tool.PROJECTS, {name: name}))
        return install_tool.Tool(name, "1.0", program, 1, {machine: (archive, wanted or hashlib.sha256(content).hexdigest())})

    def enterContext_(self, context):  # enterContext came with Python 3.11
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def install(self, tool):
        with redirect_stderr(io.StringIO()) as said:
            path = install_tool.install(tool, os.path.join(self.home, "tools"))
        return path, said.getvalue()

    def left(self):
        return sorted(os.listdir(os.path.join(self.home, "tools")))


class Wheels(Setting):
    content = zipped({"made/run": "#!/bin/sh\necho ran\n", "made/helper": ("#!/bin/sh\n", 0o755), "made/text": "text"})

    def test_is_whole_and_runs(self):
        server = self.index(self.content)
        path, said = self.install(self.tool(self.content))
        self.assertEqual(subprocess.check_output([path], text=True), "ran\n")
        self.assertTrue(os.access(os.path.join(os.path.dirname(path), "helper"), os.X_OK))
        self.assertFalse(os.access(os.path.join(os.path.dirname(path), "text"), os.X_OK))
        self.assertEqual(self.left(), ["lock", "made-1.0"])
        self.assertEqual(said.count("\n"), 1)
        asked = len(server.asked)
        self.assertEqual(self.install(self.tool(self.content)), (path, ""))
        self.assertEqual(len(server.asked), asked, "downloaded again")

    def test_replaces_another_version(self):
        self.index(self.content)
        os.makedirs(os.path.join(self.home, "tools", "made-0.9"))
        self.install(self.tool(self.content))
        self.assertEqual(self.left(), ["lock", "made-1.0"])

    def test_another_sum_is_refused(self):
        self.index(zipped({"made/run": "#!/bin/sh\necho evil\n"}))
        with self.assertRaises(install_tool.Failure) as raised:
            self.install(self.tool(self.content))
        self.assertIn(hashlib.sha256(self.content).hexdigest(), raised.exception.args[0])
        self.assertEqual(self.left(), ["lock"])

    def test_a_connection_that_breaks_leaves_nothing(self):
        server = self.index([self.content[:40]])
        with self.assertRaises(install_tool.Failure):
            self.install(self.tool(self.content))
        self.assertEqual(self.left(), ["lock"])
        self.assertEqual([path for path, _ in server.asked].count("/files/" + WHEEL), 3)

    def test_no_such_wheel_or_index(self):
        self.serve({})
        for url in (self.serve({}).url, self.serve({"/made/": "<html></html>"}).url, "http://127.0.0.1:1"):
            os.environ["PIP_INDEX_URL"] = url
            with self.assertRaises(install_tool.Failure) as raised:
                self.install(self.tool(self.content))
            self.assertIn("PIP_INDEX_URL", raised.exception.args[1])
            self.assertEqual(self.left(), ["lock"])

    def test_a_file_outside_is_refused(self):
        for name in ("../run", "/run", "made/../../run"):
            content = zipped({"made/run": "x", name: "x"})
            self.index(content)
            with self.assertRaises(install_tool.Failure):
                self.install(self.tool(content))
            self.assertEqual(self.left(), ["lock"])

    def test_what_a_killed_install_left_is_removed(self):
        self.index(self.content)
        os.makedirs(os.path.join(self.home, "tools", "part-killed", "files"))
        self.install(self.tool(self.content))
        self.assertEqual(self.left(), ["lock", "made-1.0"])

    def test_a_password_stays_with_its_host(self):
        elsewhere = self.serve({"/" + WHEEL: self.content})
        server = self.index(self.content, {"/files/" + WHEEL: "->" + elsewhere.url + "/" + WHEEL})
        os.environ["PIP_INDEX_URL"] = server.url.replace("//", "//me:s%40cret@") + "/simple"
        self.install(self.tool(self.content))
        wanted = "Basic " + base64.b64encode(b"me:s@cret").decode()
        self.assertEqual(server.asked, [("/simple/made/", wanted), ("/files/" + WHEEL, wanted)])
        self.assertEqual(elsewhere.asked, [("/" + WHEEL, None)])

    def test_no_message_has_a_password(self):
        for url in ("http://me:secret@127.0.0.1:1/simple", self.serve({}).url.replace("//", "//me:secret@")):
            os.environ["PIP_INDEX_URL"] = url
            with self.assertRaises(install_tool.Failure) as raised:
                self.install(self.tool(self.content))
            self.assertNotIn("secret", " ".join(raised.exception.args))

    def test_ends_with_nothing_half_made(self):
        """Killed in the midst of the download, by a signal that can be caught and by one that cannot."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            copy = tempfile.mkdtemp(dir=self.home)
            os.mkdir(os.path.join(copy, "tools"))
            shutil.copy(os.path.join(ROOT, "tools", "install-tool"), os.path.join(copy, "tools"))
            arrived, go_on = threading.Event(), threading.Event()
            self.addCleanup(go_on.set)

            class Waits(Answer):
                def do_GET(self):
                    arrived.set()
                    go_on.wait()

            server = self.serve({})
            server.RequestHandlerClass = Waits
            command = [os.path.join(copy, "tools", "install-tool"), "uv"]
            process = subprocess.Popen(command, env={**os.environ, "PIP_INDEX_URL": server.url}, stderr=subprocess.DEVNULL)
            arrived.wait()
            process.send_signal(number)
            process.wait()
            left = os.listdir(os.path.join(copy, ".tools"))
            self.assertEqual([name for name in left if name.startswith("uv")], [], number)
            if number != signal.SIGKILL:
                self.assertEqual(left, ["lock"], number)
            go_on.set()


class Go(Setting):
    prefix = "golang.org/toolchain@v0.0.1-go1.0.linux-none/"
    files = {"bin/go": "#!/bin/sh\necho go\n", "pkg/tool/none/vet": "#!/bin/sh\n", "src/_go.mod": "module std\n", "src/a_go.mod": "text"}

    def module(self):
        content = zipped({self.prefix + name: text for name, text in self.files.items()})
        lines = "".join("%s  %s\n" % (hashlib.sha256(text.encode()).hexdigest(), self.prefix + name) for name, text in sorted(self.files.items()))
        wanted = "h1:" + base64.b64encode(hashlib.sha256(lines.encode()).digest()).decode()
        return content, self.tool(content, "go", "linux-none", wanted, "bin/go")

    def test_is_unpacked_as_go_does_it(self):
        content, tool = self.module()
        server = self.serve({"/golang.org/toolchain/@v/v0.0.1-go1.0.linux-none.zip": content})
        os.environ["GOPROXY"] = "http://127.0.0.1:1|%s/,direct" % server.url
        path, _ = self.install(tool)
        self.assertEqual(subprocess.check_output([path], text=True), "go\n")
        folder = os.path.dirname(os.path.dirname(path))
        self.assertEqual(sorted(os.listdir(os.path.join(folder, "src"))), ["a_go.mod", "go.mod"])
        self.assertTrue(os.access(os.path.join(folder, "pkg/tool/none/vet"), os.X_OK))

    def test_another_sum_and_no_zip_are_refused(self):
        content, tool = self.module()
        for wrong in (zipped({self.prefix + "bin/go": "evil"}), b"<html>log in</html>", content[:-10]):
            os.environ["GOPROXY"] = self.serve({"/golang.org/toolchain/@v/v0.0.1-go1.0.linux-none.zip": wrong}).url
            with self.assertRaises(install_tool.Failure) as raised:
                self.install(tool)
            self.assertIn("GOPROXY", raised.exception.args[1])
            self.assertEqual(self.left(), ["lock"])

    def test_sum_is_that_of_a_module(self):
        """The known sum of a small module, which go.sum has: its files as the proxy zips them."""
        with open(os.path.join(ROOT, "go.sum")) as sums:
            known = [line.split() for line in sums if "/go.mod" not in line]
        checked = 0
        for name, version, wanted in known:
            file = os.path.join(MODULES, "cache", "download", name, "@v", version + ".zip")
            if os.path.exists(file) and os.path.getsize(file) < 1e6:
                self.assertEqual(install_tool.hash_module(file), wanted, name)
                checked += 1
        if not checked:
            self.skipTest("no module is in " + MODULES)

    def test_is_the_go_of_go_mod(self):
        with open(os.path.join(ROOT, "go.mod")) as file:
            (wanted,) = re.findall(r"^go (\S+)$", file.read(), re.MULTILINE)
        self.assertEqual(install_tool.TOOLS["go"].version, wanted, "go.mod has moved: the sums in tools/install-tool as well")

    def test_proxies(self):
        for setting, wanted in {
            "": ["https://proxy.golang.org"],
            "https://a/,direct": ["https://a"],
            "https://a|https://b,off": ["https://a", "https://b"],
            "direct": ["https://proxy.golang.org"],
        }.items():
            os.environ["GOPROXY"] = setting
            self.assertEqual(install_tool.go_proxies(), wanted)
        os.environ["GOPROXY"] = "off"
        self.assertRaises(install_tool.Failure, install_tool.go_proxies)
        del os.environ["GOPROXY"], os.environ["GOENV"]
        os.makedirs(os.path.join(self.home, ".config", "go"))
        with open(os.path.join(self.home, ".config", "go", "env"), "w") as file:
            file.write("GOFLAGS=-v\nGOPROXY=https://own\n")
        self.assertEqual(install_tool.go_proxies(), ["https://own"])


class Indexes(Setting):
    def test_environment_then_files(self):
        self.assertEqual(install_tool.package_indexes(), ["https://pypi.org/simple"])
        file = os.path.join(self.home, "pip.conf")
        with open(file, "w") as out:
            out.write("[global]\nindex-url = https://own/simple/\ncert = %(x)s\n")
        os.environ["PIP_CONFIG_FILE"] = file
        self.assertEqual(install_tool.package_indexes(), ["https://own/simple"])
        os.environ["PIP_INDEX_URL"] = "https://named/simple"
        self.assertEqual(install_tool.package_indexes(), ["https://named/simple"])


@unittest.skipUnless(shutil.which("make"), "no make here")
class Make(Setting):
    """`make go` in a folder with the Makefile, go.mod and an install-tool that only says that it was called."""

    def make(self, go):
        folder = tempfile.mkdtemp(dir=self.home)
        for name in ("Makefile", "go.mod"):
            shutil.copy(os.path.join(ROOT, name), folder)
        shutil.copytree(os.path.join(ROOT, "python", "stoker"), os.path.join(folder, "python", "stoker"))
        os.makedirs(os.path.join(folder, "tools"))
        with open(os.path.join(folder, "tools", "install-tool"), "w") as file:
            file.write("import sys\nprint('called', *sys.argv[1:], file=sys.stderr)\nsys.exit(not __file__)\n")
        os.mkdir(os.path.join(folder, "first"))
        with open(os.path.join(folder, "first", "go"), "w") as file:
            file.write("#!/bin/sh\n" + go)
        os.chmod(os.path.join(folder, "first", "go"), 0o755)
        environment = {**os.environ, "PATH": os.path.join(folder, "first") + ":" + os.environ["PATH"]}
        return subprocess.run(["make", "-s", "--no-print-directory", "go"], cwd=folder, env=environment, capture_output=True, text=True)

    def test_a_go_that_will_do_is_used(self):
        with open(os.path.join(ROOT, "go.mod")) as file:
            (wanted,) = re.findall(r"^go (\S+)$", file.read(), re.MULTILINE)
        for version in ("go" + wanted, "go1.99", "go1.99rc1", "devel go1.99-abcdef", "go%s-X:nocoverage" % wanted):
            ran = self.make("echo '%s'" % version)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""), version)
        ran = self.make("echo 'go: downloading go%s (linux/amd64)' >&2; echo go%s" % (wanted, wanted))
        self.assertEqual(ran.returncode, 0)
        self.assertNotIn("called", ran.stderr)

    def test_another_is_not(self):
        for go in ("echo go1.19.8", "echo go1.26", "echo go1.9", "echo go: toolchain not available >&2; exit 1", "exit 127", "echo"):
            ran = self.make(go)
            self.assertEqual(ran.stderr.splitlines()[0], "called go", go)

    def test_a_failure_ends_make(self):
        with mock.patch.dict(os.environ, {"PYTHON": "false"}):
            self.assertNotEqual(self.make("exit 1").returncode, 0)


class Torch(Setting):
    """python/install-torch in an environment that has what is pinned, as far as the metadata tell."""

    def setUp(self):
        super().setUp()
        os.makedirs(os.path.join(self.home, "python"))
        self.script = os.path.join(self.home, "python", "install-torch")
        shutil.copy(os.path.join(ROOT, "python", "install-torch"), self.script)
        venv = os.path.join(self.home, "python", ".venv")
        subprocess.check_call([sys.executable, "-m", "venv", "--without-pip", venv])
        ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
        self.packages = subprocess.check_output([os.path.join(venv, "bin", "python"), "-c", ask], text=True).strip()
        with open(self.script) as file:
            pins = re.findall(r"([a-z-]+)==([0-9.]+)", file.read().split("PINS=(")[1].split("\n)")[0])
        self.assertGreater(len(pins), 3)
        for name, version in pins:
            folder = os.path.join(self.packages, "%s-%s.dist-info" % (name.replace("-", "_"), version))
            os.mkdir(folder)
            with open(os.path.join(folder, "METADATA"), "w") as out:
                out.write("Metadata-Version: 2.1\nName: %s\nVersion: %s\n" % (name, version))

    def write(self, name, text):
        with open(os.path.join(self.packages, name + ".py"), "w") as out:
            out.write(text)

    def compiled(self, name):
        return os.path.exists(importlib.util.cache_from_source(os.path.join(self.packages, name + ".py")))

    def run_script(self):
        run = functools.partial(subprocess.run, [self.script], capture_output=True, text=True, check=True)
        return run(env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}).stderr

    def test_modules_are_compiled_once(self):
        self.write("good", "x = 1\n")
        self.write("old", "print 1\n")
        said = self.run_script()
        self.assertEqual(said.count("\n"), 1, said)
        self.assertTrue(self.compiled("good"))
        self.write("later", "x = 1\n")
        self.assertEqual(self.run_script(), "")
        self.assertFalse(self.compiled("later"), "looked at every module again")


if __name__ == "__main__":
    unittest.main()
