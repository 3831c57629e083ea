/** A real daemon with an empty store, an endpoint that does as it is told, and somebody who looks. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createSocket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test as base, expect, type Page } from "@playwright/test";
import { live } from "./past";
import { Postgres } from "./postgres";

export { expect };

export const ADMIN = { username: "ada", password: "correct horse battery" };

/** What the endpoint answers. */
const SERVED = '{"served":true}';

/** Where the daemon keeps its jobs. */
export type Store = "embedded" | "postgres";

export class House {
  private constructor(
    readonly url: string,
    /** Answers 200; under /fail, whatever is set. */
    readonly endpoint: string,
    private readonly answer: { status: number; body: string },
    private readonly daemon: ChildProcess,
    private readonly server: Server,
    private readonly directory: string,
    private readonly postgres: Postgres | undefined,
  ) {}

  static async open(store: Store): Promise<House> {
    const binary = process.env.CHRONOS_BIN;
    if (!binary) throw new Error("CHRONOS_BIN must name the binary; run `make test-dashboard`");
    const answer = { status: 503, body: SERVED };
    const server = createServer((request, response) => {
      request.resume();
      const fails = request.url?.startsWith("/fail");
      response.statusCode = fails ? answer.status : 200;
      response.setHeader("content-type", "application/json");
      const delay = request.url?.startsWith("/slow") ? 60_000 : 0;
      setTimeout(() => response.end(fails ? answer.body : SERVED), delay).unref();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const directory = mkdtempSync(join(tmpdir(), "chronos-dashboard-"));
    const listen = `127.0.0.1:${await freePort()}`;
    const flags = ["serve", "--listen", listen, "--data-dir", join(directory, "data")];
    const postgres = store === "postgres" ? await Postgres.open(await freePort()) : undefined;
    if (postgres) {
      const key = join(directory, "secret.key");
      writeFileSync(key, randomBytes(32).toString("base64"), { mode: 0o600 });
      flags.push("--database-url", postgres.url, "--secret-key-file", key);
    }
    flags.push("--allow-target", "127.0.0.1");
    // Nodes that share a database share its clock, so only a daemon by itself can have lived before.
    if (!postgres) await live({ binary, flags, directory, url: `http://${listen}`, endpoint });
    const daemon = spawn(binary, flags, {
      cwd: directory,
      // Nothing of this machine's settings is for it.
      env: { PATH: process.env.PATH, HOME: directory },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const said: string[] = [];
    daemon.stderr?.on("data", (text) => said.splice(0, said.length - 20, String(text)));
    daemon.on("exit", (code) => code && console.error(`the daemon ended with ${code}:\n${said.join("")}`));
    const house = new House(`http://${listen}`, endpoint, answer, daemon, server, directory, postgres);
    await house.ready();
    return house;
  }

  private async ready() {
    for (let tries = 0; tries < 300; tries += 1) {
      if (this.daemon.exitCode !== null) throw new Error(`the daemon ended with ${this.daemon.exitCode}`);
      const answer = await fetch(`${this.url}/readyz`).catch(() => undefined);
      if (answer?.ok) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error("the daemon does not answer");
  }

  async close() {
    const ended = once(this.daemon, "exit");
    this.daemon.kill("SIGTERM");
    await ended;
    this.server.closeAllConnections();
    this.server.close();
    await this.postgres?.close();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** What the endpoint answers from now on under /fail. */
  answerWith(status: number, body = SERVED) {
    Object.assign(this.answer, { status, body });
  }

  async ask<T = Record<string, unknown>>(path: string, body?: unknown, token?: string): Promise<T> {
    const response = await fetch(this.url + path, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(token ? { authorization: `Bearer ${token}` } : {}),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  /** Runs a command as somebody who copied it into a shell. */
  shell(command: string, token: string) {
    const binary = process.env.CHRONOS_BIN ?? "chronos";
    execFileSync("sh", ["-c", `chronos() { "$BINARY" "$@"; }\n${command}`], {
      env: {
        PATH: process.env.PATH,
        HOME: this.directory,
        BINARY: binary,
        CHRONOS_SERVER: this.url,
        CHRONOS_TOKEN: token,
      },
      stdio: ["ignore", "ignore", "inherit"],
    });
  }

  /** The admin's token; makes the admin if there is none. */
  async admin(): Promise<string> {
    await this.ask("/auth/signup", ADMIN).catch(() => undefined);
    return (await this.ask<{ token: string }>("/auth/login", ADMIN)).token;
  }

  /** Has what happened so far told by days, weeks, months and years, and found by words. */
  async recall() {
    const token = await this.admin();
    for (const name of ["toc_rollup_day", "toc_rollup_week", "toc_rollup_month", "index_commit"]) {
      const found = await this.ask<{ items: { id: string }[] }>(`/jobs?name=${name}`, undefined, token);
      const [job] = found.items;
      if (!job) continue;
      const id = await this.runOnce(job.id, token);
      for (;;) {
        const { status } = await this.ask<{ status: string }>(`/executions/${id}`, undefined, token);
        if (status !== "QUEUED" && status !== "RUNNING") break;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  /** Runs a job that does not run twice at once, when it is its turn. */
  private async runOnce(job: string, token: string): Promise<string> {
    for (;;) {
      const path = `${this.url}/jobs/${job}/run`;
      const answer = await fetch(path, { method: "POST", headers: { authorization: `Bearer ${token}` } });
      if (answer.ok) return ((await answer.json()) as { id: string }).id;
      if (answer.status !== 409) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Lets somebody in, unless they are already. */
  async hire(who: typeof ADMIN, role: string) {
    await this.ask("/users", { ...who, role }, await this.admin()).catch(() => undefined);
  }

  /** Opens a page as somebody who is logged in. */
  async enter(page: Page, path: string, who = ADMIN) {
    if (who === ADMIN) await this.admin();
    const login = await this.ask("/auth/login", who);
    await page.goto(`${this.url}/ui/theme.js`);
    await page.evaluate((text) => localStorage.setItem("chronos.session", text), JSON.stringify(login));
    await page.goto(`${this.url}/ui${path}`);
  }
}

async function freePort(): Promise<number> {
  const socket = createSocket();
  socket.listen(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address() as AddressInfo;
  socket.close();
  await once(socket, "close");
  return port;
}

/** What a page complained about: refusals of its policy, errors of its scripts. */
export const test = base.extend<{ complaints: string[] }, { store: Store; house: House }>({
  store: ["embedded", { scope: "worker", option: true }],
  house: [
    async ({ store }, use) => {
      const house = await House.open(store);
      await use(house);
      await house.close();
    },
    { scope: "worker", timeout: 180_000 },
  ],
  complaints: [
    async ({ page }, use) => {
      const complaints: string[] = [];
      page.on("pageerror", (error) => complaints.push(String(error)));
      page.on("console", (message) => {
        const text = message.text();
        // A refusal that the page shows is no complaint of its own.
        if (message.type() === "error" && !text.startsWith("Failed to load resource")) complaints.push(text);
      });
      await use(complaints);
      expect(complaints).toEqual([]);
    },
    { auto: true },
  ],
});
