/** What others write is text, whatever it looks like, and nothing but the dashboard's own files runs. */
import type { Page } from "@playwright/test";
import { expect, test } from "./house";

const PAYLOADS = [
  "<svg/onload=window.hit=1>",
  '"><img src=x onerror=window.hit=1>',
  "</script><script>window.hit=1</script>",
  "{{constructor.constructor('window.hit=1')()}}",
  "javascript:window.hit=1",
];

/** Nothing of it ran, and nothing of it became more than text. */
async function isHarmless(page: Page) {
  expect(await page.evaluate(() => "hit" in window)).toBe(false);
  await expect(page.locator("a[href^='javascript:'], img, svg[onload], [onerror]")).toHaveCount(0);
}

test("hostile texts are shown as they are, whichever field they are in", async ({ page, house }) => {
  const token = await house.admin();
  const made: { id: string; name: string }[] = [];
  // Answers and errors are others' words, too.
  house.answerWith(503, PAYLOADS.join("\n"));
  for (const [number, text] of PAYLOADS.entries()) {
    const job = await house.ask<{ id: string }>(
      "/jobs/recurring",
      {
        name: `${number} ${text}`,
        schedule: { type: "interval", seconds: 3600 },
        target: {
          type: "http",
          url: `${house.endpoint}/fail?q=${encodeURIComponent(text)}`,
          headers: { "X-Evil": text },
        },
        payload: text,
        tags: [text.slice(0, 40).replaceAll(",", "")],
        max_retry: 0,
      },
      token,
    );
    await house.ask(`/jobs/${job.id}/run`, {}, token);
    await house.ask(`/jobs/${job.id}/pause`, { note: text }, token);
    made.push({ id: job.id, name: `${number} ${text}` });
    await house.ask(
      "/quiet-hours",
      { name: `quiet ${text}`, timezone: "UTC", windows: [{ start: "22:00", end: "07:00" }] },
      token,
    );
    await house.ask(
      "/subscriptions",
      { name: `ear ${text}`, url: `${house.endpoint}/${encodeURIComponent(text)}`, filter: { tag: text } },
      token,
    );
    await house.ask("/api-keys", { name: text, scopes: ["read"] }, token);
  }
  const said = await house.ask<{ id: string }>(
    "/jobs/recurring",
    {
      name: "hostile message",
      schedule: { type: "interval", seconds: 3600 },
      target: { type: "message", template: { text: PAYLOADS[0], structured: { evil: PAYLOADS[1] } } },
    },
    token,
  );
  await house.ask(`/jobs/${said.id}/run`, {}, token);

  await house.enter(page, "/jobs?status=paused");
  for (const { name } of made) await expect(page.getByRole("link", { name, exact: true })).toBeVisible();
  await isHarmless(page);
  for (const { id, name } of made) {
    await page.goto(`${house.url}/ui/jobs/${id}`);
    await expect(page.getByRole("heading", { level: 1 })).toContainText(name);
    await expect(page.getByRole("region", { name: "Definition" })).toContainText(name.slice(2));
    await isHarmless(page);
    await page.goto(`${house.url}/ui/jobs/${id}/edit`);
    await expect(page.getByLabel("Name", { exact: true })).toHaveValue(name);
    await isHarmless(page);
  }
  // What was answered, in an execution and among the dead letters.
  await page.goto(`${house.url}/ui/dead-letters`);
  await page.getByRole("row").filter({ hasText: "0 <svg" }).getByRole("link").nth(1).click();
  await expect(page.getByRole("region", { name: "Body" })).toContainText(PAYLOADS[2] ?? "");
  await isHarmless(page);
  for (const [path, text] of [
    ["/events", PAYLOADS[0]],
    ["/audit?kind=schedule.paused", PAYLOADS[4]],
    ["/quiet-hours", `quiet ${PAYLOADS[1]}`],
    ["/subscriptions", `ear ${PAYLOADS[2]}`],
    ["/people", PAYLOADS[3]],
    ["/", PAYLOADS[0]],
  ] as const) {
    await page.goto(`${house.url}/ui${path}`);
    await expect(page.getByText(text ?? "").first()).toBeVisible();
    await isHarmless(page);
  }
  // What is found by words is others' text as well.
  await page.goto(`${house.url}/ui/history?q=${encodeURIComponent("kind:execution onload")}`);
  const found = page.getByRole("list", { name: "Found" });
  await expect(async () => {
    await page.getByLabel("Search the history").last().press("Enter");
    await expect(found).toContainText("window.hit=1", { timeout: 1_000 });
  }).toPass();
  await isHarmless(page);
  // What the address says is shown as well.
  await page.goto(`${house.url}/ui/history?q=${encodeURIComponent(PAYLOADS[1] ?? "")}`);
  await expect(page.getByLabel("Search the history").last()).toHaveValue(PAYLOADS[1] ?? "");
  await isHarmless(page);
  house.answerWith(503);
});

test("a hostile cron expression is refused in so many words", async ({ page, house }) => {
  await house.enter(page, "/jobs/new");
  await page.getByLabel("Expression").fill("<svg/onload=window.hit=1> * * * *");
  await expect(page.getByRole("alert")).toContainText("<svg/onload");
  await isHarmless(page);
});

test("the policy admits no inline script, and nobody may frame the dashboard", async ({
  page,
  house,
  complaints,
}) => {
  const response = await page.goto(`${house.url}/ui/`);
  const headers = response?.headers() ?? {};
  const policy = headers["content-security-policy"] ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain("unsafe");
  expect(headers["x-content-type-options"]).toBe("nosniff");
  expect(headers["referrer-policy"]).toBe("no-referrer");

  await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.hit = 1";
    document.head.append(script);
  });
  expect(await page.evaluate(() => "hit" in window)).toBe(false);
  expect(complaints.splice(0).join()).toMatch(/Content Security Policy/);
});

test("a page asks nobody but its own daemon", async ({ page, house }) => {
  const asked = new Set<string>();
  page.on("request", (request) => asked.add(new URL(request.url()).origin));
  await house.enter(page, "/");
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  await expect(page.getByTestId("herd")).toBeVisible();
  expect([...asked]).toEqual([house.url]);
});
