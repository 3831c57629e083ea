/** Short notes about what was just done, read out to those who do not see them. */
import { X } from "lucide-react";
import { Toast as Radix } from "radix-ui";
import { useSyncExternalStore } from "react";
import { inWords } from "@/api/problem";
import { classes } from "@/lib/classes";

interface Note {
  id: number;
  text: string;
  bad: boolean;
}

let notes: Note[] = [];
let count = 0;
const listeners = new Set<() => void>();

function set(next: Note[]) {
  notes = next;
  for (const listener of listeners) listener();
}

export function say(text: string, bad = false) {
  count += 1;
  set([...notes.slice(-2), { id: count, text, bad }]);
}

/** Does something, and says that it was done or why not. */
export async function doing(work: Promise<unknown>, done: string): Promise<boolean> {
  try {
    await work;
    say(done);
    return true;
  } catch (error) {
    say(inWords(error), true);
    return false;
  }
}

function listen(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Toasts() {
  const shown = useSyncExternalStore(listen, () => notes);
  return (
    <Radix.Provider duration={5000} swipeDirection="right">
      {shown.map((note) => (
        <Radix.Root
          key={note.id}
          type={note.bad ? "foreground" : "background"}
          onOpenChange={(open) => !open && set(notes.filter((it) => it.id !== note.id))}
          className={classes(
            "flex items-start justify-between gap-3 rounded-md border px-3 py-2.5 text-sm shadow-lg",
            note.bad ? "bg-bad-tint text-bad" : "bg-surface",
          )}
        >
          <Radix.Description className="wrap-anywhere">{note.text}</Radix.Description>
          <Radix.Close aria-label="Dismiss" className="text-faint hover:text-ink">
            <X className="size-4" />
          </Radix.Close>
        </Radix.Root>
      ))}
      <Radix.Viewport className="fixed right-4 bottom-4 z-60 flex w-88 max-w-[calc(100vw-2rem)] flex-col gap-2 outline-none" />
    </Radix.Provider>
  );
}
