/** The live tail: message events as they come, over a stream that comes back by itself. */
import { useEffect, useRef, useState } from "react";
import { api, done, known, type MessageEvent, problem } from "./client";
import { Problem } from "./problem";

/** Events that are kept in sight. */
const KEPT = 500;
/** Events from before that are shown at first. */
const BEFORE = 50;
/** What came is shown this often at most, so that a flood leaves room for whoever reads. */
const SHOWN_EVERY_MS = 200;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;

export interface Filter {
  job?: string;
  tag?: string;
}

export interface Tail {
  /** Newest first. */
  events: MessageEvent[];
  state: "connecting" | "live" | "lost";
  error: unknown;
}

export function useTail({ job, tag }: Filter, running: boolean): Tail {
  const [events, setEvents] = useState<MessageEvent[]>([]);
  const [state, setState] = useState<Tail["state"]>("connecting");
  const [error, setError] = useState<unknown>();
  const last = useRef<string>(undefined);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another filter begins anew
  useEffect(() => {
    last.current = undefined;
    setEvents([]);
  }, [job, tag]);

  useEffect(() => {
    if (!running) return;
    const stop = new AbortController();
    const came: MessageEvent[] = [];
    const show = () => {
      if (came.length === 0) return;
      const newest = came.splice(0).reverse();
      setEvents((shown) => [...newest, ...shown].slice(0, KEPT));
    };
    const timer = setInterval(show, SHOWN_EVERY_MS);
    const query = { ...(job && { job }), ...(tag && { tag }) };

    const follow = async () => {
      const parameters = new URLSearchParams({ ...query, after: last.current ?? "latest" });
      const request = new Request(`/events/stream?${parameters}`, { signal: stop.signal });
      const response = await known(request);
      if (!response.ok || !response.body) throw await problem(response);
      for await (const { id, data } of lines(response.body)) {
        if (id !== undefined) {
          if (last.current === undefined) came.push(...(await before(query, Number(id))));
          last.current = id;
        }
        if (data) came.push(JSON.parse(data) as MessageEvent);
        setState("live");
        setError(undefined);
      }
    };
    const keepUp = async () => {
      for (let wait = FIRST_WAIT_MS; !stop.signal.aborted; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
        setState("connecting");
        try {
          await follow();
          wait = FIRST_WAIT_MS;
        } catch (failure) {
          if (stop.signal.aborted) return;
          setError(failure);
          // A cursor that is refused, as after a restore, is of no more use.
          if (failure instanceof Problem && failure.status === 400) last.current = undefined;
        }
        setState("lost");
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    };
    void keepUp();
    return () => {
      stop.abort();
      clearInterval(timer);
      show();
    };
  }, [job, tag, running]);

  return { events, state, error };
}

async function before(query: Filter, cursor: number): Promise<MessageEvent[]> {
  const after = String(Math.max(0, cursor - BEFORE));
  const page = await done(api.GET("/events", { params: { query: { ...query, after, limit: BEFORE } } }));
  return page.items.filter((event) => event.sequence <= cursor);
}

interface Line {
  id?: string;
  data?: string;
}

/** The events of a stream of server-sent events. */
async function* lines(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<Line> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done: over, value } = await reader.read();
    if (over) return;
    text += value;
    const whole = text.split("\n\n");
    text = whole.pop() ?? "";
    for (const block of whole) yield read(block);
  }
}

function read(block: string): Line {
  const line: Line = {};
  for (const each of block.split("\n")) {
    const [, field, value] = /^(\w+): ?(.*)$/.exec(each) ?? [];
    if (field === "id") line.id = value;
    if (field === "data") line.data = (line.data === undefined ? "" : `${line.data}\n`) + value;
  }
  return line;
}
