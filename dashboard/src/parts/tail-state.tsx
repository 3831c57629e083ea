/** Whether a live tail is live. */
import { Badge } from "@/ui/status";

export function TailState({ running, state }: { running: boolean; state: string }) {
  if (!running) return <Badge tone="warn">Held</Badge>;
  if (state === "live") {
    return (
      <Badge tone="good">
        <span aria-hidden className="breathe size-1.5 rounded-full bg-current" /> Live
      </Badge>
    );
  }
  return (
    <Badge tone={state === "lost" ? "bad" : "plain"}>
      {state === "lost" ? "Lost, trying again" : "Connecting"}
    </Badge>
  );
}
