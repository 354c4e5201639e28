// local-slack's page in a browser, driven by lines of JSON on stdin, each answered by one on stdout:
// node page.mjs FOLDER_OF_NODE_MODULES CHROMIUM ADDRESS
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

const [installed, executablePath, address] = process.argv.slice(2);
const found = path.join(installed, 'node_modules', 'playwright-core', 'index.mjs');
const { chromium } = await import(pathToFileURL(found).href);
const LIMIT = { timeout: 30000 };
const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'slack-page-'));
const context = await chromium.launchPersistentContext(profile, {
  executablePath,
  headless: true,
  viewport: { width: 1500, height: 1100 },
  args: [
    '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
    '--no-proxy-server', '--disable-background-networking', '--disable-component-update',
    '--disable-sync',
  ],
});
const page = await context.newPage();

const steps = {
  async open() {
    await page.goto(address);
    await page.waitForSelector('.channel-header', LIMIT);
  },
  async go({ to }) {
    await page.locator('.sidebar-item', { hasText: to }).first().click(LIMIT);
  },
  async type({ words, within }) {
    const field = page.locator(`${within} .composer-input`);
    await field.fill(words, LIMIT);
    await page.locator(`${within} .composer-send`).click(LIMIT);
  },
  async thread({ words }) {
    const message = page.locator('.messages > *', { hasText: words }).last();
    await message.locator('.thread-summary').click(LIMIT);
    await page.waitForSelector('.thread-pane', LIMIT);
  },
  async press({ label, within }) {
    await page.locator(`${within} button`, { hasText: label }).last().click(LIMIT);
  },
  async fill({ label, words }) {
    const block = page.locator('.modal .bk-input', { hasText: label });
    await block.locator('input, textarea').first().fill(words, LIMIT);
  },
  async choose({ label, option }) {
    const block = page.locator('.modal .bk-input', { hasText: label });
    await block.locator('select').first().selectOption({ label: option }, LIMIT);
  },
  async see({ words, within }) {
    await page.waitForFunction(
      ([where, sought]) =>
        [...document.querySelectorAll(where)].some((part) => part.innerText.includes(sought)),
      [within, words], LIMIT,
    );
  },
  async gone({ within }) {
    await page.waitForFunction((where) => document.querySelector(where) === null, within, LIMIT);
  },
  async shot({ out }) {
    await page.waitForTimeout(300);
    await page.screenshot({ path: out });
  },
  async text({ within }) {
    return page.evaluate((where) => document.querySelector(where)?.innerText ?? '', within);
  },
};

try {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const step = JSON.parse(line);
    let answer;
    try {
      answer = { is: (await steps[step.do](step)) ?? null };
    } catch (error) {
      answer = { error: String(error), text: await page.evaluate(() => document.body.innerText) };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
} finally {
  await context.close();
  fs.rmSync(profile, { recursive: true, force: true });
}
