/** The items of all pages. */
export async function collect<Item>(pages: AsyncIterable<readonly Item[]>): Promise<readonly Item[]> {
  const items: Item[] = [];
  for await (const page of pages) items.push(...page);
  return items;
}
