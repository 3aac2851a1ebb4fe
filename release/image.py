"""The container image, as an OCI archive, written without a daemon.

Nothing is in it but the binary, glibc as Debian builds it (the binary loads NVML, which needs it) and
their licences: no shell, no package manager. It runs as user 65532. `podman load -i`, `skopeo copy
oci-archive:` and `crane push` take the archive.
"""

import gzip
import hashlib
import io
import json
import os
import subprocess
import tarfile

# What apt-get of Debian 12 downloads, and what that must be. Where Debian has a newer one: the line of
# `apt-cache show libc6` and `sha256sum` of the file.
LIBC = "2.36-9+deb12u14"
LIBC_SHA256 = {
    "amd64": "ba4f88f73dbc3ae9055f3c20f4523bfdbaf1ad13ff95e258924f77d20b4fbedf",
    "arm64": "01f4330719fd4f65580e16ea5a0527f372fca750e8f588d26deaf09f2d3b1cf4",
}
NOBODY = 65532
USERS = f"root:x:0:0:root:/root:/sbin/nologin\nstoker:x:{NOBODY}:{NOBODY}:stoker:/home/stoker:/sbin/nologin\n"
GROUPS = f"root:x:0:\nstoker:x:{NOBODY}:\n"


def write(path, version, when, binaries, texts, scratch):
    """One archive with an image per architecture; binaries are paths by architecture, texts of licences by name."""
    blobs, manifests = {}, []
    for arch, binary in binaries.items():
        layers = [libc_layer(arch, when, scratch), stoker_layer(binary, when, texts)]
        packed = [gzip.compress(layer, mtime=0) for layer in layers]
        made = f"{when:%Y-%m-%dT%H:%M:%SZ}"
        config = keep(blobs, "config", dumps({
            "architecture": arch, "os": "linux", "created": made,
            "config": {
                "User": f"{NOBODY}:{NOBODY}", "WorkingDir": "/home/stoker", "Entrypoint": ["/usr/bin/stoker"], "Cmd": ["--help"],
                "Env": ["PATH=/usr/bin:/bin", "HOME=/home/stoker"],
                "Labels": {"org.opencontainers.image.version": version, "org.opencontainers.image.licenses": "Apache-2.0",
                           "org.opencontainers.image.source": "https://github.com/stoker-dev/stoker"},
            },
            "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers]},
            "history": [{"created": made, "comment": f"libc6 {LIBC} of Debian"}, {"created": made, "comment": f"stoker {version}"}],
        }))
        manifest = keep(blobs, "manifest", dumps({
            "schemaVersion": 2, "mediaType": TYPES["manifest"], "config": config,
            "layers": [keep(blobs, "layer", layer) for layer in packed],
        }))
        manifests.append({**manifest, "platform": {"architecture": arch, "os": "linux"}})
    index = keep(blobs, "index", dumps({"schemaVersion": 2, "mediaType": TYPES["index"], "manifests": manifests}))
    entry = {**index, "annotations": {"org.opencontainers.image.ref.name": version}}
    files = {"oci-layout": dumps({"imageLayoutVersion": "1.0.0"}), "index.json": dumps({"schemaVersion": 2, "manifests": [entry]}), **blobs}
    with open(path, "wb") as file:
        file.write(tar([(name, 0o644, 0, content) for name, content in files.items()], when))
    return {arch: sum(layer["size"] for layer in json.loads(blobs[blob(m["digest"])])["layers"]) for arch, m in zip(binaries, manifests)}


TYPES = {
    "config": "application/vnd.oci.image.config.v1+json",
    "layer": "application/vnd.oci.image.layer.v1.tar+gzip",
    "manifest": "application/vnd.oci.image.manifest.v1+json",
    "index": "application/vnd.oci.image.index.v1+json",
}


def keep(blobs, kind, content):
    digest = "sha256:" + hashlib.sha256(content).hexdigest()
    blobs[blob(digest)] = content
    return {"mediaType": TYPES[kind], "digest": digest, "size": len(content)}


def blob(digest):
    return "blobs/" + digest.replace(":", "/")


def dumps(value):
    return json.dumps(value, indent=1, sort_keys=True).encode() + b"\n"


def stoker_layer(binary, when, texts):
    with open(binary, "rb") as file:
        entries = [("usr/bin/stoker", 0o755, 0, file.read())]
    entries += [(f"usr/share/doc/stoker/{name}", 0o644, 0, text) for name, text in texts.items()]
    entries += [("etc/passwd", 0o644, 0, USERS.encode()), ("etc/group", 0o644, 0, GROUPS.encode())]
    return tar([*entries, ("home/stoker", 0o700, NOBODY, None), ("tmp", 0o1777, 0, None)], when)


def libc_layer(arch, when, scratch):
    """The shared libraries and the licence of Debian's libc6, no more."""
    package = os.path.join(scratch, f"libc6_{LIBC}_{arch}.deb")
    state = os.path.join(scratch, "apt-" + arch)  # apt of another architecture, without touching the machine's
    os.makedirs(os.path.join(state, "lists", "partial"))
    os.makedirs(os.path.join(state, "cache", "archives", "partial"))
    apt = ["apt-get", "-qq", "-o", f"APT::Architecture={arch}", "-o", f"APT::Architectures::={arch}",
           "-o", f"Dir::State::Lists={state}/lists", "-o", f"Dir::Cache={state}/cache", "-o", "APT::Sandbox::User="]
    subprocess.run([*apt, "update"], check=True)
    subprocess.run([*apt, "download", f"libc6:{arch}={LIBC}"], cwd=scratch, check=True)
    with open(package, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    if digest != LIBC_SHA256[arch]:
        raise SystemExit(f"release/image.py: error: check {package}: its sha256 is {digest}, expected {LIBC_SHA256[arch]}")
    content = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE, check=True).stdout
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(content)) as whole, tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as some:
        for entry in whole:
            entry.name = entry.name.removeprefix("./")
            if entry.name.startswith("lib") or entry.name == "usr/share/doc/libc6/copyright":
                entry.mtime = int(when.timestamp())
                some.addfile(entry, whole.extractfile(entry) if entry.isreg() else None)
        with open("/usr/share/common-licenses/LGPL-2.1", "rb") as text:  # the package's own text refers to it
            add(some, "usr/share/common-licenses/LGPL-2.1", 0o644, 0, text.read(), when)
    return out.getvalue()


def tar(entries, when):
    """A tar of (name, mode, owner, content), a folder where content is None, that is the same each time."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as file:
        for entry in entries:
            add(file, *entry, when)
    return out.getvalue()


def add(file, name, mode, owner, content, when):
    entry = tarfile.TarInfo(name)
    entry.mode, entry.uid, entry.gid, entry.mtime = mode, owner, owner, int(when.timestamp())
    entry.type, entry.size = (tarfile.DIRTYPE, 0) if content is None else (tarfile.REGTYPE, len(content))
    file.addfile(entry, None if content is None else io.BytesIO(content))
