/** Text as it is, letter by letter. */
import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { Button } from "@/ui/button";
import { say } from "@/ui/toast";

export function Code({ children, label }: { children: string; label: string }) {
  return (
    <div className="group relative">
      <section
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keyboard
        tabIndex={0}
        className="max-h-96 overflow-auto rounded-md bg-sunken p-3 pr-12"
      >
        <pre className="wrap-anywhere whitespace-pre-wrap font-mono text-xs leading-5">{children}</pre>
      </section>
      <div className="absolute top-1.5 right-1.5">
        <CopyButton text={children} label={`Copy ${label.toLowerCase()}`} />
      </div>
    </div>
  );
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    if (!(await toClipboard(text))) return;
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <Button kind="quiet" size="icon" aria-label={label} onClick={copy}>
      {copied ? <Check /> : <Copy />}
    </Button>
  );
}

/** Browsers give pages without TLS no clipboard. */
export async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    say("This browser does not let the page copy; select the text instead.", true);
    return false;
  }
}
