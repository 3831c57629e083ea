/** The way in: setting up, logging in, or straight on where nobody needs to. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { api, done } from "@/api/client";
import { fieldsOf, inWords, Problem } from "@/api/problem";
import { me } from "@/api/queries";
import { keep, useSession } from "@/api/session";
import { Mark } from "@/parts/mark";
import { Button } from "@/ui/button";
import { Field, Input } from "@/ui/field";
import { Failed, Refusal } from "@/ui/states";

/** Remembers that somebody chose to go on without users. */
const WITHOUT = "chronos.without-users";

export function Gate({ children }: { children: ReactNode }) {
  const login = useSession();
  const client = useQueryClient();
  const asked = useQuery(me);
  const [without, setWithout] = useState(() => sessionStorage.getItem(WITHOUT) === "yes");
  const user = login?.user.id;
  const before = useRef(user);
  useEffect(() => {
    if (before.current === user) return;
    before.current = user;
    // What was told to one is not for another.
    void client.resetQueries();
  }, [user, client]);
  if (asked.isPending) return <Boot />;
  if (asked.isError) {
    const unknown = asked.error instanceof Problem && asked.error.status === 401;
    if (!unknown) return <Failed error={asked.error} retry={() => asked.refetch()} />;
    return <LogIn />;
  }
  if (asked.data.known_by === "local" && !without) {
    const goOn = () => {
      sessionStorage.setItem(WITHOUT, "yes");
      setWithout(true);
    };
    return <SetUp goOn={goOn} />;
  }
  return children;
}

/** As the page itself begins. */
function Boot() {
  return (
    <div className="boot" role="status" aria-label="Loading">
      <Mark large />
    </div>
  );
}

function SetUp({ goOn }: { goOn: () => void }) {
  const act = async (username: string, password: string) => {
    await done(api.POST("/auth/signup", { body: { username, password } }));
    keep(await done(api.POST("/auth/login", { body: { username, password } })));
  };
  return (
    <Door
      title="Set up Chronos"
      lead="Make the first user. It is the admin: it sees every job, and lets others in."
      act="Create admin"
      fresh
      onAct={act}
    >
      <p className="border-t pt-4 text-center text-sm text-soft">
        Until there is a user, everyone on this machine may do everything.{" "}
        <button type="button" onClick={goOn} className="font-medium text-accent underline underline-offset-2">
          Go on without
        </button>
      </p>
    </Door>
  );
}

function LogIn() {
  const act = async (username: string, password: string) => {
    keep(await done(api.POST("/auth/login", { body: { username, password } })));
  };
  return (
    <Door title="Log in" act="Log in" onAct={act}>
      <p className="border-t pt-4 text-center text-faint text-xs">
        No user yet? Make the first on the scheduler's machine:{" "}
        <code className="font-mono">chronos users create</code>
      </p>
    </Door>
  );
}

interface DoorProps {
  title: string;
  lead?: string;
  act: string;
  /** Whether the password is a new one. */
  fresh?: boolean;
  onAct: (username: string, password: string) => Promise<void>;
  children: ReactNode;
}

function Door({ title, lead, act, fresh, onAct, children }: DoorProps) {
  const client = useQueryClient();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const fields = fieldsOf(error);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    try {
      await onAct(String(form.get("username")), String(form.get("password")));
      await client.invalidateQueries({ queryKey: me.queryKey });
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <main className="grid min-h-screen place-items-center p-4">
      <div className="w-full max-w-sm">
        <div className="mb-6 flex justify-center">
          <Mark large />
        </div>
        <form onSubmit={submit} className="space-y-4 rounded-lg border bg-surface p-6">
          <div>
            <h1 className="font-semibold text-lg tracking-tight">{title}</h1>
            {lead && <p className="mt-1 text-sm text-soft">{lead}</p>}
          </div>
          <Field label="Name" error={fields.username}>
            <Input name="username" required autoComplete="username" autoCapitalize="none" autoFocus />
          </Field>
          <Field label="Password" hint={fresh ? "8 characters or more." : undefined} error={fields.password}>
            <Input
              name="password"
              type="password"
              required
              autoComplete={fresh ? "new-password" : "current-password"}
            />
          </Field>
          {error !== undefined && Object.keys(fields).length === 0 && <Refusal>{inWords(error)}</Refusal>}
          <Button type="submit" kind="primary" disabled={busy} className="w-full justify-center">
            {act}
          </Button>
          {children}
        </form>
      </div>
    </main>
  );
}
