/** Dialogs: something to fill in, or something to be sure about. */
import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import { type ReactNode, useState } from "react";
import { inWords } from "@/api/problem";
import { Button } from "./button";
import { Refusal } from "./states";

interface Props {
  open: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
  wide?: boolean;
}

export function Dialog({ open, onClose, title, children, wide }: Props) {
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-[#0b0a08]/50" />
        <Radix.Content
          aria-describedby={undefined}
          className={`fixed top-[10vh] left-1/2 z-50 flex max-h-[80vh] w-[calc(100vw-2rem)] -translate-x-1/2 flex-col rounded-lg border bg-surface shadow-2xl ${wide ? "max-w-2xl" : "max-w-md"}`}
        >
          <div className="flex items-center justify-between gap-4 border-b px-4 py-3">
            <Radix.Title className="font-semibold text-base">{title}</Radix.Title>
            <Radix.Close asChild>
              <Button kind="quiet" size="icon" aria-label="Close" className="-mr-2">
                <X />
              </Button>
            </Radix.Close>
          </div>
          <div className="overflow-y-auto p-4">{children}</div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

interface ConfirmProps {
  open: boolean;
  onClose: () => void;
  title: string;
  /** What will be touched. */
  children: ReactNode;
  /** The verb on the button. */
  act: string;
  danger?: boolean;
  onAct: () => Promise<unknown>;
}

/** Says what is about to happen and asks for a yes. */
export function Confirm({ open, onClose, title, children, act, danger, onAct }: ConfirmProps) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string>();
  const close = () => {
    setError(undefined);
    onClose();
  };
  const go = async () => {
    setBusy(true);
    try {
      await onAct();
      close();
    } catch (problem) {
      setError(inWords(problem));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog open={open} onClose={close} title={title}>
      <div className="space-y-4 text-sm text-soft">
        {children}
        {error && <Refusal>{error}</Refusal>}
        <div className="flex justify-end gap-2">
          <Button onClick={close}>Leave it</Button>
          <Button kind={danger ? "danger" : "primary"} disabled={busy} onClick={go}>
            {act}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
