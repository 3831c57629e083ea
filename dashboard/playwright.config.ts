import { defineConfig } from "@playwright/test";
import type { Store } from "./tests/house";

// Debian's Chromium, because the project installs it by itself; as root it has no sandbox.
const executablePath = process.env.CHRONOS_CHROMIUM ?? "/usr/bin/chromium";
const args = ["--disable-background-networking", ...(process.getuid?.() === 0 ? ["--no-sandbox"] : [])];

export default defineConfig<object, { store: Store }>({
  testDir: "tests",
  outputDir: process.env.CHRONOS_SHOTS ? `${process.env.CHRONOS_SHOTS}/results` : "test-results",
  timeout: 60_000,
  expect: { timeout: 15_000 },
  workers: 1,
  reporter: "list",
  use: {
    launchOptions: { executablePath, args },
    viewport: { width: 1440, height: 900 },
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
    trace: "retain-on-failure",
  },
  projects: [
    { name: "embedded", use: { store: "embedded" } },
    // What a page looks like does not depend on where jobs are kept.
    { name: "postgres", use: { store: "postgres" }, testIgnore: ["**/4-*", "**/5-*"] },
  ],
});
