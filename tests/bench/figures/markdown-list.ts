/** A Markdown list, an item a line. */
export function markdownList(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join('\n');
}
