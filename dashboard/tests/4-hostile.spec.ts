/** What others write is text, whatever it looks like, and nothing but the dashboard's own files runs. */
import { expect, test } from "./house";

const PAYLOADS = [
  "<svg/onload=window.hit=1>",
  '"><img src=x onerror=window.hit=1>',
  "</script><script>window.hit=1</script>",
  "{{constructor.constructor('window.hit=1')()}}",
  "javascript:window.hit=1",
];

test("hostile texts are shown as they are", async ({ page, house }) => {
  const token = await house.admin();
  const made: { id: string; name: string }[] = [];
  for (const [number, text] of PAYLOADS.entries()) {
    const job = await house.ask<{ id: string }>(
      "/jobs/recurring",
      {
        name: `${number} ${text}`,
        schedule: { type: "interval", seconds: 3600 },
        target: { type: "http", url: `${house.endpoint}/fail`, headers: { "X-Evil": text } },
        payload: text,
        tags: [text.slice(0, 40).replaceAll(",", "")],
      },
      token,
    );
    await house.ask(`/jobs/${job.id}/pause`, { note: text }, token);
    made.push({ id: job.id, name: `${number} ${text}` });
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
  for (const { id, name } of made) {
    await page.goto(`${house.url}/ui/jobs/${id}`);
    await expect(page.getByRole("heading", { level: 1 })).toContainText(name);
    await expect(page.getByRole("region", { name: "Definition" })).toContainText(name.slice(2));
  }
  await page.goto(`${house.url}/ui/events`);
  await expect(page.getByText(PAYLOADS[0] ?? "").first()).toBeVisible();
  expect(await page.evaluate(() => "hit" in window)).toBe(false);
  await expect(page.locator("a[href^='javascript:'], img, svg[onload]")).toHaveCount(0);
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
  await page.waitForLoadState("networkidle").catch(() => undefined);
  expect([...asked]).toEqual([house.url]);
});
