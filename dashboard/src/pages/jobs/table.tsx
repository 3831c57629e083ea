/** The table of jobs. */
import { flexRender, type Table as Rows } from "@tanstack/react-table";
import type { Job } from "@/api/client";
import { classes } from "@/lib/classes";
import { Table, Td, Th, Tr } from "@/ui/panel";

export function JobTable({ table }: { table: Rows<Job> }) {
  const mayChoose = table.options.meta?.may.write ?? false;
  const shown = (id: string) => mayChoose || (id !== "choose" && id !== "acts");
  return (
    <Table label="Jobs">
      <thead>
        {table.getHeaderGroups().map((group) => (
          <tr key={group.id}>
            {group.headers
              .filter((header) => shown(header.column.id))
              .map((header) => (
                <Th key={header.id} className={header.column.columnDef.meta?.className ?? ""}>
                  {flexRender(header.column.columnDef.header, header.getContext())}
                </Th>
              ))}
          </tr>
        ))}
      </thead>
      <tbody>
        {table.getRowModel().rows.map((row) => (
          <Tr key={row.id} className={classes(row.getIsSelected() && "bg-accent-tint/50")}>
            {row
              .getVisibleCells()
              .filter((cell) => shown(cell.column.id))
              .map((cell) => (
                <Td key={cell.id} className={cell.column.columnDef.meta?.className ?? ""}>
                  {flexRender(cell.column.columnDef.cell, cell.getContext())}
                </Td>
              ))}
          </Tr>
        ))}
      </tbody>
    </Table>
  );
}
