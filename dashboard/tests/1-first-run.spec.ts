/** Getting in: nobody yet, the first user, and later. */
import { ADMIN, expect, test } from "./house";
import { isFitInEveryLight } from "./looks";

test("the first to come makes the admin, logs out and in again", async ({ page, house }) => {
  await page.goto(house.url);
  await expect(page.getByRole("heading", { name: "Set up Chronos" })).toBeVisible();
  await isFitInEveryLight(page, "set-up");

  await page.getByLabel("Name").fill(ADMIN.username);
  await page.getByLabel("Password").fill("short");
  await page.getByRole("button", { name: "Create admin" }).click();
  await expect(page.getByLabel("Password")).toHaveAttribute("aria-invalid", "true");

  await page.getByLabel("Password").fill(ADMIN.password);
  await page.getByRole("button", { name: "Create admin" }).click();
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();

  await page.getByRole("button", { name: /ada/ }).click();
  await page.getByRole("menuitem", { name: "Log out" }).click();
  await expect(page.getByRole("heading", { name: "Log in" })).toBeVisible();
  await isFitInEveryLight(page, "log-in");

  await page.getByLabel("Name").fill(ADMIN.username);
  await page.getByLabel("Password").fill("not this one");
  await page.getByRole("button", { name: "Log in" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  await page.getByLabel("Password").fill(ADMIN.password);
  await page.getByRole("button", { name: "Log in" }).click();
  await expect(page.getByRole("heading", { name: "Overview" })).toBeVisible();
});

test("a login whose token ran out is renewed without a word", async ({ page, house }) => {
  await house.enter(page, "/jobs");
  await expect(page.getByRole("heading", { name: "Jobs" })).toBeVisible();
  const before = await page.evaluate(() => {
    const login = JSON.parse(localStorage.getItem("chronos.session") ?? "{}");
    localStorage.setItem("chronos.session", JSON.stringify({ ...login, token: "x.y.z" }));
    return login.refresh_token as string;
  });
  await page.reload();
  await expect(page.getByRole("link", { name: "New job" }).first()).toBeVisible();
  const after = await page.evaluate(() => JSON.parse(localStorage.getItem("chronos.session") ?? "{}"));
  expect(after.refresh_token).not.toBe(before);
});

test("a session that was ended elsewhere leads back to the door", async ({ page, house }) => {
  await house.enter(page, "/jobs");
  await expect(page.getByRole("heading", { name: "Jobs" })).toBeVisible();
  const token = await page.evaluate(() => JSON.parse(localStorage.getItem("chronos.session") ?? "{}").token);
  await page.request.post(`${house.url}/auth/logout`, {
    headers: { authorization: `Bearer ${token}` },
    data: { all: true },
  });
  await page.reload();
  await expect(page.getByRole("heading", { name: "Log in" })).toBeVisible();
});

test("a scheduler that does not answer is told of, and so is that it does again", async ({
  page,
  house,
  complaints,
}) => {
  await house.enter(page, "/jobs");
  await expect(page).toHaveTitle("Jobs · Chronos");
  await page.route(`${house.url}/**`, (route) => route.abort());
  await expect(page.getByRole("alert")).toContainText("does not answer");
  await page.unroute(`${house.url}/**`);
  await expect(page.getByRole("alert")).toBeHidden();
  complaints.splice(0);
});
