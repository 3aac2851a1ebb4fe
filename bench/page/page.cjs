// Looks at the pages of `stoker report` and `stoker predict` in a headless Chromium: widths, light and dark, print, without
// script, keys, axe-core, 10^5 steps, 200 hostile names. It writes pictures and pages to OUT and ends with 1 where something is wrong.
//
//     npm install --prefix bin/page playwright-core axe-core     # Debian: apt-get install chromium nodejs npm
//     node bench/page/page.cjs bin/page-out [PAGE...]            # all pages, or some
'use strict';
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');
const { createRequire } = require('node:module');

const root = path.resolve(__dirname, '../..');
const from = createRequire(path.join(process.env.STOKER_PAGE_TOOLS || path.join(root, 'bin/page'), 'package.json'));
const { chromium } = from('playwright-core');
const axe = fs.readFileSync(from.resolve('axe-core/axe.min.js'), 'utf8');
const out = path.resolve(process.argv[2] || path.join(root, 'bin/page-out'));
const chosen = process.argv.slice(3);
const cases = path.join(root, 'testdata/cases');
const live = path.join(cases, 'feed-before/run.jsonl.gz');
const predict = ['predict', '--gpu', 'h100-sxm', '--model', 'resnet50', '--workers', '8', '--cores', '16', '--storage', 'nvme'];

// What page is made by what.
const pages = {
  run: ['report', live],
  pair: ['report', live, path.join(cases, 'feed-after/run.jsonl.gz')],
  trace: ['report', path.join(cases, 'trace-launches/trace.json.gz')],
  traces: ['report', path.join(cases, 'trace-loader/trace.json.gz'), path.join(cases, 'trace-workers/trace.json.gz')],
  ranks: ['report', path.join(cases, 'trace-two-ranks')],
  forecast: [...predict, '--batch', '256', '--for', '95%'],
  sweep: [...predict, '--batch', '32..1024'],
  roofline: [...predict, '--batch', '256', '--roofline'],
  tune: ['report', path.join(root, 'cmd/stoker/testdata/tuned/object.json')],
  long: ['report', path.join(out, 'long.jsonl')],
  hostile: ['report', path.join(out, 'hostile.jsonl')],
};

// The live recording with 10^5 steps.
const lines = () => zlib.gunzipSync(fs.readFileSync(live)).toString().trimEnd().split('\n').map((line) => JSON.parse(line));
const written = (name, all) => fs.writeFileSync(path.join(out, name), all.map((o) => JSON.stringify(o)).join('\n') + '\n');
function long() {
  const all = lines(), steps = all.filter((o) => o.kind === 'step'), period = .02;
  const head = all.filter((o) => o.kind === 'header' || o.kind === 'facts');
  written('long.jsonl', [...head, ...Array.from({ length: 1e5 }, (_, i) => ({ ...steps[5 + i % 100], t: 4 + period * i, n: i, period, wait: period * (.5 + .3 * Math.sin(i / 9000)) }))]);
}

// 200 names from outside: script, markup, right to left, very long, escape sequences. One that runs marks the page.
const evil = ['<script>window.bad=1</script>', '</script><script>window.bad=1</script>', '"><img src=x onerror="window.bad=1">', '\u202egnp.live', '\u001b[31mred\u001b]0;title\u0007',
  'x'.repeat(5000), '{{.Headline}}', "'; window.bad=1; '", '<svg onload="window.bad=1">', '&lt;b&gt;', '\u2066\u2028\u2029', 'javascript:window.bad=1'];
function hostile() {
  const all = lines();
  for (const o of all) {
    if (o.kind !== 'facts') continue;
    const f = o.facts, name = (i) => `${i} ${evil[i % evil.length]}`;
    f.command = Array.from({ length: 60 }, (_, i) => name(i));
    f.machine.cpu = evil[0];
    for (const g of f.gpus || []) g.name = evil[2];
    (f.processes ||= []).push(...Array.from({ length: 60 }, (_, i) => ({ pid: 90000 + i, parent: 28486, role: 'worker', rank: 0, device: -1, name: name(i), start: 1 })));
    f.absent = Array.from({ length: 60 }, (_, i) => ({ what: name(i), why: name(i + 1) }));
    for (const l of f.loaders || []) Object.assign(l, { dataset: evil[1], reader: evil[8], where: evil[2] + ':1', transforms: Array.from({ length: 20 }, (_, i) => name(i)) });
  }
  all.push(...Array.from({ length: 60 }, (_, i) => ({ kind: 'sample', t: 5, signal: 'disk.busy', subject: `disk/${i} ${evil[i % evil.length]}`, value: 1 })));
  written('hostile.jsonl', all);
}

const faults = [];
const fault = (page, text) => { faults.push(`${page}: ${text}`); };

// Chromium takes pictures of 16,384 pixels at most.
async function picture(p, name) {
  const [width, height] = await p.evaluate(() => [innerWidth, document.documentElement.scrollHeight]);
  await p.screenshot({ path: path.join(out, name + '.png'), fullPage: true, clip: { x: 0, y: 0, width, height: Math.min(height, 16000) } });
}

async function looked(browser, name) {
  const file = path.join(out, name + '.html'), url = 'file://' + file;
  const text = fs.readFileSync(file, 'utf8');
  const data = [...text.matchAll(/<script type="application\/json"[^>]*>([\s\S]*?)<\/script>/g)].reduce((n, m) => n + m[1].length, 0);
  if (text.length - data > 250e3) fault(name, `${text.length - data} bytes without the data`);
  const open = async (options, then) => {
    const context = await browser.newContext({ viewport: { width: 800, height: 900 }, ...options });
    const page = await context.newPage();
    page.on('console', (m) => fault(name, 'console: ' + m.text().slice(0, 200)));
    page.on('pageerror', (e) => fault(name, 'error: ' + e));
    page.on('request', (r) => { if (r.url() !== url) fault(name, 'asks for ' + r.url().slice(0, 100)); });
    await page.goto(url);
    const result = await then(page);
    await context.close();
    return result;
  };
  const loads = [];
  for (let i = 0; i < 3; i++) loads.push(await open({}, (p) => p.evaluate(() => performance.getEntriesByType('navigation')[0].loadEventEnd)));
  for (const width of [360, 800, 1400]) {
    for (const colorScheme of ['light', 'dark']) {
      await open({ viewport: { width, height: 900 }, colorScheme }, async (p) => {
        const wide = await p.evaluate(() => document.documentElement.scrollWidth);
        if (wide > width) fault(name, `${wide} pixels wide at ${width}`);
        await picture(p, `${name}-${width}-${colorScheme}`);
      });
    }
  }
  for (const colorScheme of ['light', 'dark']) {
    await open({ bypassCSP: true, colorScheme, viewport: { width: 1100, height: 900 } }, async (p) => {
      await p.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
      await p.evaluate(axe);
      const found = await p.evaluate(() => axe.run());
      for (const v of found.violations) fault(name, `axe, ${colorScheme}: ${v.id}, ${v.impact}, ${v.nodes.length} times: ${v.nodes[0].html.slice(0, 120)}`);
      if (await p.evaluate(() => window.bad)) fault(name, 'a name was run');
    });
  }
  await open({ javaScriptEnabled: false }, async (p) => {
    const hidden = await p.$$eval('main :not(script):not(.copy):not(.hint)[hidden]', (all) => all.map((e) => e.className));
    if (hidden.some((c) => c !== 'sliders')) fault(name, 'without script not shown: ' + hidden);
    await picture(p, name + '-noscript');
  });
  await open({}, (p) => p.pdf({ path: path.join(out, `${name}.pdf`), format: 'A4' }));
  const keys = await open({ viewport: { width: 1100, height: 900 } }, byKeys(name));
  console.log(`${name}: ${text.length} bytes, ${text.length - data} without data; load ${loads.map((v) => Math.round(v)).sort((a, b) => a - b)[1]} ms; ${keys}`);
}

// Everything that can be pressed, moved or scrolled is reached with Tab, and answers.
const byKeys = (name) => async (p) => {
  const wanted = await p.$$eval('a[href], button:not([hidden]), input, summary, .strip svg[tabindex], pre[tabindex], .scroll[tabindex]', (all) => all.filter((e) => e.checkVisibility()).length);
  const reached = new Set();
  for (let i = 0; i < wanted + 20; i++) {
    await p.keyboard.press('Tab');
    const id = await p.evaluate(() => {
      const e = document.activeElement;
      if (e === document.body) return '';
      e.dataset.tab ||= String(document.querySelectorAll('[data-tab]').length + 1);
      return e.dataset.tab;
    });
    if (id) reached.add(id);
  }
  if (reached.size < wanted) fault(name, `${reached.size} of ${wanted} things are reached with Tab`);
  const change = async (selector, keys, read) => {
    const e = await p.$(selector);
    if (!e) return;
    await e.focus();
    const before = await read();
    for (const key of keys) await p.keyboard.press(key);
    if (await read() === before) fault(name, `${selector} does not answer ${keys}`);
  };
  await change('.strip .track svg', ['PageDown', 'Shift+PageDown'], () => p.textContent('.strip .readout'));
  await change('#workers', ['ArrowRight'], () => p.textContent('#what-if-answer'));
  await change('summary', ['Enter'], () => p.$eval('details', (d) => String(d.open)));
  await change('.copy:not([hidden])', ['Enter'], () => p.textContent('.copy:not([hidden])'));
  return `${wanted} things by keyboard`;
};

(async () => {
  fs.mkdirSync(out, { recursive: true });
  long();
  hostile();
  const stoker = process.env.STOKER_BIN || path.join(root, 'bin/stoker');
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox'] });
  for (const name of chosen.length ? chosen : Object.keys(pages)) {
    execFileSync(stoker, [...pages[name], '-o', path.join(out, name + '.html')], { stdio: 'ignore' });
    await looked(browser, name);
  }
  await browser.close();
  faults.forEach((f) => console.log('FAULT ' + f));
  process.exit(faults.length ? 1 : 0);
})();
