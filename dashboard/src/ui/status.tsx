/** How something does, as a dot, a word and a tint: never by colour alone. */
import { classes } from "@/lib/classes";
import { statusInWords, type Tone, toneOf } from "@/lib/words";

const TINTS: Record<Tone, string> = {
  good: "bg-good-tint text-good",
  bad: "bg-bad-tint text-bad",
  warn: "bg-warn-tint text-warn",
  busy: "bg-busy-tint text-busy",
  plain: "bg-sunken text-soft",
};

export function Status({ status }: { status: string }) {
  const tone = toneOf(status);
  return (
    <Badge tone={tone}>
      <span
        aria-hidden
        className={classes("size-1.5 rounded-full bg-current", tone === "busy" && "breathe")}
      />
      {statusInWords(status)}
    </Badge>
  );
}

export function Badge({ tone = "plain", children }: { tone?: Tone; children: React.ReactNode }) {
  return (
    <span
      className={classes(
        "inline-flex h-5.5 items-center gap-1.5 whitespace-nowrap rounded-full px-2 font-medium text-xs",
        TINTS[tone],
      )}
    >
      {children}
    </span>
  );
}

export function Tag({ children }: { children: React.ReactNode }) {
  return (
    <span className="inline-block max-w-40 truncate rounded border border-line bg-sunken px-1.5 align-middle text-2xs text-soft">
      {children}
    </span>
  );
}
