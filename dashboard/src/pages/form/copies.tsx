/** What is written in the form, as a request or a command to keep. */
import { Terminal } from "lucide-react";
import type { NewJob } from "@/api/client";
import { toClipboard } from "@/parts/code";
import { Button } from "@/ui/button";
import { Item, Menu } from "@/ui/menu";
import { say } from "@/ui/toast";
import { command, curl } from "../job/recipes";

export function Copies({ body, name }: { body: NewJob; name: string | undefined }) {
  const asked = { ...body, name: body.name ?? name };
  const copy = async (text: string, what: string) => {
    if (await toClipboard(text)) say(`Copied as ${what}`);
  };
  return (
    <Menu
      trigger={
        <Button>
          <Terminal /> Copy as…
        </Button>
      }
    >
      <Item onSelect={() => copy(curl(asked), "curl")}>curl</Item>
      <Item onSelect={() => copy(command(asked), "a command")}>Command</Item>
      <Item onSelect={() => copy(JSON.stringify(asked, null, 2), "JSON")}>JSON</Item>
    </Menu>
  );
}
