"""A real etcd and kube-apiserver for the tests of what ships, with an audit log of bindings and evictions.

There is no controller and no kubelet; `kubelet.py` plays them. Tests of the program itself have a control plane of their
own in tests/cluster/support.
"""
import json
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AUDIT = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: RequestResponse
  resources: [{group: "", resources: [pods/binding, bindings]}]
- level: None
"""
# User, groups. `masters` is for kubectl and helm.
USERS = {"admin": "system:masters", "system:kube-scheduler": ""}


class Failed(Exception):
    """A command, a call or a server that failed; the text has its output."""


def run(*command, input=None, check=True, env=None, cwd=ROOT):
    """Runs a command; returns what it printed on standard output."""
    done = subprocess.run(
        [str(word) for word in command], input=input, capture_output=True, text=True, cwd=cwd,
        env={**os.environ, **(env or {})})
    if check and done.returncode != 0:
        raise Failed(f"{' '.join(str(word) for word in command)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def wait_until(what, done, timeout=60, pause=0.2):
    """Waits until `done()` is true, and returns what it returned."""
    end = time.monotonic() + timeout
    while True:
        found = done()
        if found:
            return found
        if time.monotonic() > end:
            raise Failed(f"waited {timeout} s without success: {what}")
        time.sleep(pause)


def free_port():
    with socket.socket() as of:
        of.bind(("127.0.0.1", 0))
        return of.getsockname()[1]


def stop(process, grace=10):
    """Ends a process that was started here."""
    if process is None or process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(grace)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class ControlPlane:
    """Use it in a `with` statement: at its end both servers are stopped and their folder is removed."""

    def __init__(self, flags=()):
        self.assets = Path(run(ROOT / "tests/control-plane/build.sh").strip())
        beside = self.assets / "kubectl"
        self.kubectl_program = beside if beside.exists() else shutil.which("kubectl")
        self.folder = Path(tempfile.mkdtemp(prefix="bayplan-ship-"))
        # Programs with the rights of a container go through it.
        self.folder.chmod(0o755)
        self.flags = flags
        self.processes = []
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.tokens = {user: secrets.token_hex(16) for user in USERS}

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            stop(process, grace=5)
        shutil.rmtree(self.folder, ignore_errors=True)

    def spawn(self, name, command, **options):
        """Starts a process that ends with the control plane; its output is in NAME.log."""
        with open(self.folder / f"{name}.log", "ab") as log:
            process = subprocess.Popen(
                [str(word) for word in command], stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, **options)
        self.processes.append(process)
        return process

    def log(self, name, lines=30):
        path = self.folder / f"{name}.log"
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else ""

    def _start(self):
        file = lambda name: self.folder / name
        (file("audit.yaml")).write_text(AUDIT)
        lines = [f'{token},{user},{user},"{USERS[user]}"\n' for user, token in self.tokens.items()]
        file("tokens.csv").write_text("".join(lines))
        run("openssl", "genrsa", "-out", file("account.key"), "2048")
        run("openssl", "rsa", "-in", file("account.key"), "-pubout", "-out", file("account.pub"))
        etcd = f"http://127.0.0.1:{free_port()}"
        self.spawn("etcd", [
            self.assets / "etcd", "--unsafe-no-fsync", f"--data-dir={file('etcd')}", f"--listen-client-urls={etcd}",
            f"--advertise-client-urls={etcd}", "--listen-peer-urls=http://127.0.0.1:0", "--log-level=warn"])
        server = self.spawn("kube-apiserver", [
            self.assets / "kube-apiserver", f"--etcd-servers={etcd}", f"--secure-port={self.port}",
            "--bind-address=127.0.0.1", f"--cert-dir={file('certs')}", "--service-account-issuer=https://bayplan.test",
            f"--service-account-key-file={file('account.pub')}",
            f"--service-account-signing-key-file={file('account.key')}", f"--token-auth-file={file('tokens.csv')}",
            "--authorization-mode=RBAC", "--endpoint-reconciler-type=none", "--service-cluster-ip-range=127.7.0.0/24",
            # No controller makes the default account that the first requires, or removes the taint of the second.
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition", "--allow-privileged=true",
            f"--audit-policy-file={file('audit.yaml')}", f"--audit-log-path={file('audit.log')}", *self.flags])
        self.kubeconfig = self.kubeconfig_of("admin", self.tokens["admin"])

        def ready():
            if server.poll() is not None:
                raise Failed(f"kube-apiserver ended:\n{self.log('kube-apiserver')}\netcd:\n{self.log('etcd')}")
            try:
                namespaces = [of["metadata"]["name"] for of in self.get("/api/v1/namespaces")["items"]]
                return self.raw("GET", "/readyz") == b"ok" and "kube-system" in namespaces
            except (OSError, Failed):
                return False
        wait_until("the API server is ready", ready, timeout=120)

    @property
    def ca(self):
        """The certificate of the API server with the authority that signed it."""
        return self.folder / "certs/apiserver.crt"

    def kubeconfig_of(self, name, token):
        """Writes a kubeconfig; the path."""
        path = self.folder / f"{name.replace(':', '-')}.kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": self.url, "certificate-authority": str(self.ca)}}],
            "users": [{"name": "test", "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]}))
        return path

    @property
    def env(self):
        """For commands of users."""
        return {"KUBECONFIG": str(self.kubeconfig)}

    def kubectl(self, *arguments, input=None, check=True):
        return run(self.kubectl_program, *arguments, input=input, check=check, env=self.env)

    def raw(self, verb, path, body=None, content="application/json", token=None):
        """A call to the API server; the body of the answer."""
        request = urllib.request.Request(self.url + path, method=verb, data=None if body is None else json.dumps(body).encode())
        request.add_header("Authorization", f"Bearer {token or self.tokens['admin']}")
        request.add_header("Content-Type", content)
        try:
            with urllib.request.urlopen(request, context=self._tls(), timeout=30) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            failed = Failed(f"{verb} {path}: {error.code}: {text}")
            failed.code = error.code
            raise failed from None

    def _tls(self):
        if not hasattr(self, "_context"):
            self._context = ssl.create_default_context(cafile=self.ca)
            self._context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        return self._context

    def get(self, path):
        return json.loads(self.raw("GET", path))

    def exists(self, path):
        try:
            return self.get(path)
        except Failed as failed:
            if getattr(failed, "code", None) == 404:
                return None
            raise

    def create(self, path, body):
        return json.loads(self.raw("POST", path, body))

    def patch(self, path, body):
        return json.loads(self.raw("PATCH", path, body, "application/merge-patch+json"))

    def delete(self, path, grace=None):
        options = None if grace is None else {"gracePeriodSeconds": grace}
        self.raw("DELETE", path, options)

    def token_of(self, namespace, account):
        """A token of a service account."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        return self.create(path, {"spec": {"expirationSeconds": 3600}})["status"]["token"]

    def bindings(self):
        """Every Binding that was sent: pod, UID, node, user and status of the answer, in order."""
        found = []
        path = self.folder / "audit.log"
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                event = json.loads(line)
            except json.JSONDecodeError:
                continue  # It is being written.
            of, sent = event["objectRef"], event.get("requestObject") or {}
            found.append({
                "pod": f"{of['namespace']}/{of['name']}", "uid": (sent.get("metadata") or {}).get("uid"),
                "node": (sent.get("target") or {}).get("name"), "user": event["user"]["username"],
                "code": event["responseStatus"]["code"]})
        return found
