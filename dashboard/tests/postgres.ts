/** A private PostgreSQL, for a daemon that keeps its jobs there. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where Debian has its versions. */
const VERSIONS = "/usr/lib/postgresql";

export class Postgres {
  private constructor(
    readonly url: string,
    private readonly server: ChildProcess,
    private readonly directory: string,
  ) {}

  static async open(port: number): Promise<Postgres> {
    const bin = process.env.CHRONOS_PG_BIN ?? newest();
    const directory = mkdtempSync(join(tmpdir(), "chronos-postgres-"));
    // It refuses to run as root.
    const owner = process.getuid?.() === 0 ? { uid: idOf("-u"), gid: idOf("-g") } : {};
    if (owner.uid !== undefined) chownSync(directory, owner.uid, owner.gid);
    const data = join(directory, "data");
    const flags = ["--username=postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"];
    execFileSync(join(bin, "initdb"), [...flags, "--pgdata", data], {
      ...owner,
      cwd: directory,
      stdio: "ignore",
    });
    const settings = ["listen_addresses=127.0.0.1", `unix_socket_directories=${directory}`, "fsync=off"];
    const server = spawn(
      join(bin, "postgres"),
      ["-D", data, "-p", String(port), ...settings.flatMap((setting) => ["-c", setting])],
      { ...owner, cwd: directory, stdio: "ignore" },
    );
    const postgres = new Postgres(`postgres://postgres@127.0.0.1:${port}/postgres`, server, directory);
    await postgres.ready(join(bin, "pg_isready"), port);
    return postgres;
  }

  private async ready(ask: string, port: number) {
    for (let tries = 0; tries < 200; tries += 1) {
      try {
        execFileSync(ask, ["-h", "127.0.0.1", "-p", String(port), "-q"]);
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    throw new Error("PostgreSQL does not answer");
  }

  async close() {
    const ended = once(this.server, "exit");
    this.server.kill("SIGINT");
    await ended;
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function newest(): string {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a)) : [];
  const bin = versions.map((version) => join(VERSIONS, version, "bin"));
  const found = bin.find((path) => existsSync(join(path, "initdb")));
  if (!found) throw new Error("there is no PostgreSQL; `make test-dashboard` installs it");
  return found;
}

function idOf(flag: "-u" | "-g"): number {
  return Number(execFileSync("id", [flag, "postgres"]));
}
