// Hydrogen in a browser: `node hydrogen.mjs build BED OUT` makes its page, and
// `node hydrogen.mjs shot BED '{...}'` logs in there, opens a room and takes a picture of it.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const here = import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname);
const [, , what, bed, given] = process.argv;
const modules = path.join(bed, "node_modules");
const needed = (file) => import(pathToFileURL(path.join(modules, file)).href);

const PAGE = `<!doctype html>
<html><head><meta charset="utf-8"><title>Hydrogen</title>
<link rel="stylesheet" href="assets/theme-element-light.css"></head>
<body id="app" class="hydrogen"><script type="module" src="app.js"></script></body></html>
`;

async function build(out) {
  const { build } = await needed("esbuild/lib/main.js").then((found) => found.default ?? found);
  fs.mkdirSync(out, { recursive: true });
  await build({
    entryPoints: [path.join(here, "hydrogen_app.js")],
    outfile: path.join(out, "app.js"),
    bundle: true,
    format: "esm",
    external: ["fs", "path", "crypto"],
    nodePaths: [modules],
    logLevel: "error",
  });
  const sdk = path.join(modules, "hydrogen-view-sdk");
  fs.cpSync(path.join(sdk, "asset-build", "assets"), path.join(out, "assets"), { recursive: true });
  fs.cpSync(path.join(modules, "@matrix-org", "olm"), path.join(out, "olm"), { recursive: true });
  fs.copyFileSync(path.join(sdk, "lib-build", "sw.js"), path.join(out, "sw.js"));
  fs.writeFileSync(path.join(out, "index.html"), PAGE);
}

async function shot({ chromium, page: address, homeserver, user, password, room, words, out }) {
  const browser = await needed("playwright-core/index.mjs");
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "hydrogen-"));
  const context = await browser.chromium.launchPersistentContext(profile, {
    executablePath: chromium,
    headless: true,
    viewport: { width: 1100, height: 1400 },
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--no-first-run",
      "--no-proxy-server",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  try {
    const page = await context.newPage();
    await page.goto(`${address}#/login`);
    await page.fill("#homeserver", homeserver);
    await page.fill("#username", user, { timeout: 30000 });
    await page.fill("#password", password);
    await page.click("button.primary[type=submit]");
    await page.waitForSelector(".SessionView", { timeout: 60000 });
    // The offer to set up a key backup, and the like, cover nothing of the room.
    await page.click(`.RoomList li a:has-text("${room}")`, { timeout: 30000 });
    await page.waitForSelector(".Timeline", { timeout: 30000 });
    process.stdout.write("open\n");
    await page.waitForFunction((sought) => document.querySelector(".Timeline")?.innerText.includes(sought), words, {
      timeout: 60000,
    });
    await page.waitForTimeout(500);
    await page.screenshot({ path: out });
    process.stdout.write(await page.evaluate(() => document.querySelector(".Timeline").innerText));
  } finally {
    await context.close();
    fs.rmSync(profile, { recursive: true, force: true });
  }
}

await (what === "build" ? build(given) : shot(JSON.parse(given)));
