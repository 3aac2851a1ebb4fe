// Looks at `stoker report --serve` in a headless Chromium: links to odd names, reload, back, a page that asks for itself again, and what
// a server of somebody else's on another port of this machine learns of the token.
//
//     npm install --prefix bin/page playwright-core axe-core     # Debian: apt-get install chromium nodejs npm
//     node bench/page/web.cjs
'use strict';
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { createRequire } = require('node:module');

const root = path.resolve(__dirname, '../..');
const from = createRequire(path.join(process.env.STOKER_PAGE_TOOLS || path.join(root, 'bin/page'), 'package.json'));
const { chromium } = from('playwright-core');
const recording = path.join(root, 'testdata/cases/feed-before/run.jsonl.gz');
const odd = ['a?b', 'a#b', 'a%2eb', 'a\u001b[31mb', 'a\u202eb', 'a\nb', Buffer.from([97, 0xff, 98]), 'a b&c;d', `a"b'c<d>`, '\u00e9'];

const faults = [];
const fault = (text) => { faults.push(text); };

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stoker-web-'));
  const put = (name) => fs.copyFileSync(recording, Buffer.concat([Buffer.from(folder + '/'), Buffer.from(name), Buffer.from('.jsonl.gz')]));
  odd.forEach(put);
  const stoker = spawn(process.env.STOKER_BIN || path.join(root, 'bin/stoker'), ['report', '--serve', folder]);
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox'] });
  const heard = []; // what the other port is told
  const other = http.createServer((request, answer) => {
    heard.push(JSON.stringify([request.url, request.headers]));
    answer.setHeader('Content-Type', 'text/html');
    answer.end('<p>another');
  });
  try {
    const address = await new Promise((resolve) => { let text = ''; stoker.stdout.on('data', (part) => { if ((text += part).includes('\n')) resolve(text.trim()); }); });
    const token = new URL(address).pathname.split('/')[1];
    await new Promise((resolve) => { other.listen(0, '127.0.0.1', resolve); });
    const elsewhere = `http://127.0.0.1:${other.address().port}/`;
    const context = await browser.newContext();
    const page = await context.newPage();
    page.on('console', (m) => fault('console: ' + m.text().slice(0, 200)));
    page.on('pageerror', (e) => fault('error: ' + e));
    await page.goto(address);
    await page.waitForResponse((r) => r.request().resourceType() === 'fetch', { timeout: 60000 }); // the list asks for itself again
    await page.evaluate(fs.readFileSync(from.resolve('axe-core'), 'utf8'));
    for (const v of (await page.evaluate(() => window.axe.run())).violations) fault(`axe: ${v.id} (${v.impact}) on the list`);
    const count = await page.locator('a').count();
    if (count !== odd.length) fault(`${count} links for ${odd.length} recordings`);
    for (let i = 0; i < count; i++) {
      const [answer] = await Promise.all([page.waitForNavigation(), page.locator('a').nth(i).click()]);
      if (answer.status() !== 200 || !await page.locator('#main').count()) fault(`link ${i}: ${answer.status()} ${page.url()}`);
      const again = await page.reload();
      if (again.status() !== 200) fault(`link ${i}, reloaded: ${again.status()}`);
      await page.goBack();
      if (page.url() !== address) fault('back leads to ' + page.url());
    }
    await page.locator('a').first().click();
    const asked = await page.waitForResponse((r) => r.request().resourceType() === 'fetch', { timeout: 60000 });
    if (asked.status() !== 200) fault(`the page asks for itself again: ${asked.status()}`);
    const bookmark = page.url();
    const second = await context.newPage();
    if ((await second.goto(bookmark)).status() !== 200) fault('a bookmark does not open');
    page.removeAllListeners('console'); // what follows is refused, and the browser says so
    await page.evaluate((to) => { location.href = to; }, elsewhere); // a link that somebody put there
    await page.waitForURL(elsewhere);
    const read = await page.evaluate(async (to) => { try { return (await fetch(to)).status; } catch { return 'refused'; } }, bookmark);
    if (read !== 'refused') fault(`a page of another port reads ours: ${read}`);
    if (heard.length === 0) fault('the other port was not asked');
    for (const text of heard) if (text.includes(token)) fault('another port is told the token: ' + text);
    const cookies = await context.cookies();
    if (cookies.length) fault(`${cookies.length} cookies`);
    const bare = await (await browser.newContext()).newPage();
    for (const url of [new URL('/', address).href, bookmark.replace(token, '0'.repeat(token.length))]) {
      const answer = await bare.goto(url);
      if (answer.status() !== 403) fault(`without the token: ${answer.status()}`);
    }
    console.log(`${count} links, reload, back, bookmark, live; the other port heard ${heard.length} requests, ${cookies.length} cookies`);
  } finally {
    stoker.kill();
    other.close();
    await browser.close();
    fs.rmSync(folder, { recursive: true });
  }
  for (const text of faults) console.error('fault: ' + text);
  process.exitCode = faults.length ? 1 : 0;
}
main();
