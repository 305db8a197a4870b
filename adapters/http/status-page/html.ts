/** A part of a page that needs no escaping any more. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | undefined | Html | readonly Html[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** HTML in which every value that is no HTML is text. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(textOf)));
}

function textOf(value: Value): string {
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(({ text }) => text).join('');
  return String(value ?? '').replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

/** Our own texts have backticks around code. */
export function withCode(text: string): Html {
  return new Html(html`${text}`.text.replaceAll(/`([^`]+)`/g, '<code>$1</code>'));
}

/** A moment in seconds since 1970, in UTC; `–` without one. */
export function timeOf(at: number | null): Html {
  if (at === null) return html`–`;
  const iso = new Date(at * 1_000).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)}</time>`;
}

/** @param empty what is shown without a row. */
export function table(columns: readonly string[], rows: readonly (readonly Value[])[], empty = ''): Html {
  if (rows.length === 0) return html`<p class="hint">${empty}</p>`;
  const head = columns.map((name) => html`<th scope="col">${name}</th>`);
  const body = rows.map(([first, ...others]) => {
    return html`<tr><th scope="row">${first}</th>${others.map((value) => html`<td>${value}</td>`)}</tr>`;
  });
  return html`<div class="scroll" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>`;
}
