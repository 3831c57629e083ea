/** Server-sent events, read by script because a login goes along; a stream that is lost comes back by itself. */
import { known, problem } from "./client";
import { Problem } from "./problem";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;

export type State = "connecting" | "live" | "lost";

export interface Line {
  id?: string;
  event?: string;
  data?: string;
}

interface Following {
  /** Where to go on, asked for each time it begins. */
  path: () => string;
  onLine: (line: Line) => Promise<void> | void;
  onState: (state: State, error?: unknown) => void;
  /** The place to go on from was refused, as after a restore. */
  onLostPlace?: () => void;
}

/** Follows a stream until it is told to stop. */
export async function follow({ path, onLine, onState, onLostPlace }: Following, stop: AbortSignal) {
  for (let wait = FIRST_WAIT_MS; !stop.aborted; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    onState("connecting");
    try {
      const response = await known(new Request(path(), { signal: stop }));
      if (!response.ok || !response.body) throw await problem(response);
      for await (const line of lines(response.body)) {
        await onLine(line);
        onState("live");
        wait = FIRST_WAIT_MS;
      }
      onState("lost");
    } catch (failure) {
      if (stop.aborted) return;
      if (failure instanceof Problem && failure.status === 400) onLostPlace?.();
      onState("lost", failure);
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
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
    if (field === "event") line.event = value;
    if (field === "data") line.data = (line.data === undefined ? "" : `${line.data}\n`) + value;
  }
  return line;
}
