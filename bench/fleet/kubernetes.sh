#!/bin/bash
# The manifests and the chart, taken by a real API server of Kubernetes: no node, no kubelet, so nothing runs.
#     bench/fleet/kubernetes.sh [VERSION]        such as 1.37.0
# API server, kubectl and helm are built from the Go proxy (5 minutes and 2 GB of modules), etcd and the
# PodMonitor's definition come from Debian and the Go proxy; all of it lies in a folder that goes in the end.
set -euo pipefail
version=${1:-1.37.0} root=$(cd "$(dirname "$0")/../.." && pwd) work=$(mktemp -d) pids=()
trap '{ kill -KILL "${pids[@]}"; wait; } 2>/dev/null; rm -rf "$work"' EXIT # the API server waits for etcd
cd "$work"

# Kubernetes has its libraries beside it in its repository; those of the proxy stand in their place.
module=k8s.io/kubernetes@v$version
from=$(go mod download -json "$module" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
{
    printf 'module kube\n\nrequire (\n\tk8s.io/kubernetes v%s\n\tk8s.io/kubectl v0.0.0\n)\n\nreplace (\n' "$version"
    sed -n "s|^\s*\(k8s.io/[^ ]*\) => ./staging.*|\t\1 => \1 v0.${version#*.}|p" "$from"
    printf ')\n'
} >go.mod
printf 'package kube\n\nimport (\n\t_ "k8s.io/kubectl/pkg/cmd"\n\t_ "k8s.io/kubernetes/cmd/kube-apiserver/app"\n)\n' >kube.go
mkdir bin
go mod tidy -e 2>/dev/null
go build -o bin/ k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kubectl
GOBIN=$work/bin go install helm.sh/helm/v3/cmd/helm@v3.22.0
apt-get download etcd-server 2>/dev/null && dpkg -x etcd-server*.deb etcd
operator=$(go mod download -json github.com/prometheus-operator/prometheus-operator@v0.85.0 | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')

openssl genrsa -out sa.key 2048 2>/dev/null
openssl rsa -in sa.key -pubout -out sa.pub 2>/dev/null
echo secret,admin,admin,system:masters >tokens
etcd/usr/bin/etcd --data-dir data --listen-client-urls http://127.0.0.1:22379 --advertise-client-urls http://127.0.0.1:22379 --listen-peer-urls http://127.0.0.1:22380 >etcd.log 2>&1 & pids+=($!)
bin/kube-apiserver --etcd-servers=http://127.0.0.1:22379 --secure-port=26443 --bind-address=127.0.0.1 --cert-dir=certs \
    --service-account-key-file=sa.pub --service-account-signing-key-file=sa.key --service-account-issuer=https://kubernetes.default.svc \
    --token-auth-file=tokens --authorization-mode=RBAC --service-cluster-ip-range=10.0.0.0/24 >api.log 2>&1 & pids+=($!)
cat >config <<'Y'
{apiVersion: v1, kind: Config, current-context: x,
 clusters: [{name: c, cluster: {server: "https://127.0.0.1:26443", insecure-skip-tls-verify: true}}],
 users: [{name: u, user: {token: secret}}], contexts: [{name: x, context: {cluster: c, user: u, namespace: stoker}}]}
Y
export KUBECONFIG=$work/config PATH=$work/bin:$PATH
for _ in $(seq 120); do kubectl get --raw /readyz >/dev/null 2>&1 && break; sleep 1; done
kubectl get --raw /readyz >/dev/null || { tail -n 5 api.log etcd.log; exit 1; }
kubectl create namespace stoker
kubectl create -f "$(find "$operator" -name monitoring.coreos.com_podmonitors.yaml | head -1)"
kubectl wait --for=condition=established crd/podmonitors.monitoring.coreos.com

chart=$root/examples/fleet/chart failed=0
take() { # NAME FILE: as the client and as the server have it
    for where in client server; do
        kubectl create --dry-run=$where --validate=strict -f "$2" >said 2>&1 || { echo "REFUSED by the $where: $1"; cat said; failed=1; continue; }
        echo "taken by the $where: $1 ($(grep -c created said))"
    done
}
render() { # NAME VALUES...
    local name=$1
    shift
    helm template "${release:-stoker-agent}" "$chart" --namespace stoker "$@" >chart.yaml
    take "chart, $name" chart.yaml
}
take daemonset.yaml "$root/examples/fleet/daemonset.yaml"
sed -n '/^```yaml/,/^```/{/^```/!p}' "$root/docs/cluster.md" >job.yaml
take "the Job of docs/cluster.md" job.yaml
render "as it is"
render "a Secret of one's own" --set tokenSecret=stoker-token
render "all that can be set" --set price='$2/h',figures=/var/lib/stoker/figures,hostPID=false,runtimeClassName=,port=9999,podMonitor.enabled=true
render "nothing set" --set nodeSelector=null,tolerations=null,resources=null
render "values like numbers" --set-string tokenSecret=1234,runtimeClassName=true,figures=/x
render "a label like a word of YAML" --set-string nodeSelector.gpu=true
release=123 render "a release that is a number"
release=1e5 render "another, with a PodMonitor" --set podMonitor.enabled=true

token() { kubectl get secret stoker-agent-token -o jsonpath='{.data.token}'; }
helm install stoker-agent "$chart" -n stoker --set podMonitor.enabled=true >/dev/null
before=$(token)
helm upgrade stoker-agent "$chart" -n stoker --set price='$2/h' >/dev/null
[ "$(token)" = "$before" ] || { echo "an upgrade changes the token"; failed=1; }
helm uninstall stoker-agent -n stoker
kubectl get daemonsets,podmonitors,secrets
exit $failed
