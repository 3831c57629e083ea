/** What was decided and done, by whom and when, as it happens and back to the beginning. */
import { getRouteApi } from "@tanstack/react-router";
import { Pause, Play } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { type AuditEvent, api, done } from "@/api/client";
import { inWords } from "@/api/problem";
import { type Source, useTail } from "@/api/tail";
import { TailState } from "@/parts/tail-state";
import type { AuditFilter } from "@/router";
import { Button } from "@/ui/button";
import { PageHead, Panel } from "@/ui/panel";
import { Empty, Refusal } from "@/ui/states";
import { say } from "@/ui/toast";
import { AuditFilters } from "./audit/filters";
import { AuditLine } from "./audit/line";

const route = getRouteApi("/audit");
/** Events of a page. */
const PAGE = 50;
/** Pages without an event that are walked through on the way to one. */
const PATIENCE = 20;

async function pageOf(filter: AuditFilter, cursor?: string) {
  const items: AuditEvent[] = [];
  let next: string | undefined = cursor;
  for (let page = 0; page < PATIENCE; page += 1) {
    const query = { ...filter, limit: PAGE, cursor: next };
    const answer = await done(api.GET("/audit", { params: { query } }));
    items.push(...answer.items);
    next = answer.next_cursor ?? undefined;
    if (!next || items.length >= PAGE) break;
  }
  return { items, next };
}

export function Audit() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  // Another filter begins anew.
  return (
    <Following
      key={JSON.stringify(filter)}
      filter={filter}
      onFilter={(next) => navigate({ search: next, replace: true })}
    />
  );
}

interface Props {
  filter: AuditFilter;
  onFilter: (filter: AuditFilter) => void;
}

function Following({ filter, onFilter }: Props) {
  const [running, setRunning] = useState(true);
  const [older, setOlder] = useState<AuditEvent[]>([]);
  const [next, setNext] = useState<string>();
  const [busy, setBusy] = useState(false);
  const looked = useRef(false);
  const source = useMemo<Source<AuditEvent>>(
    () => ({
      path: "/audit/stream",
      query: filter as Record<string, string>,
      keyOf: (event) => event.audit_id,
      before: async () => {
        const page = await pageOf(filter);
        if (!looked.current) setNext(page.next);
        looked.current = true;
        return page.items;
      },
    }),
    [filter],
  );
  const { items, state, error } = useTail(source, running);
  const shown = new Set(items.map((event) => event.audit_id));
  const all = [...items, ...older.filter((event) => !shown.has(event.audit_id))];
  const goBack = async () => {
    setBusy(true);
    try {
      const page = await pageOf(filter, next);
      setOlder((before) => [...before, ...page.items]);
      setNext(page.next);
    } catch (problem) {
      say(inWords(problem), true);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <PageHead title="Audit" lead="What was decided and done, by whom and when, newest first.">
        <TailState running={running} state={state} />
        <Button onClick={() => setRunning(!running)}>
          {running ? <Pause /> : <Play />}
          {running ? "Hold" : "Go on"}
        </Button>
      </PageHead>
      <AuditFilters filter={filter} onChange={onFilter} />
      {error !== undefined && state !== "live" && (
        <div className="mb-4">
          <Refusal>{inWords(error)}</Refusal>
        </div>
      )}
      <Panel>
        {all.length === 0 ? (
          <Empty title={state === "live" ? "Nothing like that is on record" : "Listening…"}>
            Slots that fire or are skipped, runs and their ends, and whatever somebody changes appear here the
            moment they are decided.
          </Empty>
        ) : (
          <ol className="divide-y" aria-label="Audit events">
            {all.map((event) => (
              <AuditLine key={event.audit_id} event={event} />
            ))}
          </ol>
        )}
        {next && (
          <div className="border-t px-4 py-2">
            <Button size="small" disabled={busy} onClick={goBack}>
              Older
            </Button>
          </div>
        )}
      </Panel>
    </>
  );
}
