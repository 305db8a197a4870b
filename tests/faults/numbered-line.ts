/** A line of up to about a thousand bytes that nothing but its number decides. */
export function numberedLine(number: number): string {
  return `{"number":${number},"text":"${String(number).repeat((number * 37) % 150)}"}\n`;
}

/** What a text of numbered lines consists of. */
export interface NumberedLines {
  /** The numbers of the whole lines, in order. */
  readonly whole: readonly number[];
  /** The beginnings of lines, each on its own line. */
  readonly fragments: number;
  /** Everything else, such as two lines that have mixed. */
  readonly others: readonly string[];
}

export function readNumberedLines(text: string): NumberedLines {
  const whole: number[] = [];
  const others: string[] = [];
  let fragments = 0;
  for (const line of text.split('\n')) {
    const number = Number(/^\{"number":(\d+),/.exec(line)?.[1]);
    if (`${line}\n` === numberedLine(number)) whole.push(number);
    else if (line !== '' && isBeginning(line, number)) fragments += 1;
    else if (line !== '') others.push(line);
  }
  return { whole, fragments, others };
}

function isBeginning(line: string, number: number): boolean {
  return Number.isNaN(number)
    ? '{"number":'.startsWith(line) || /^\{"number":\d+$/.test(line)
    : numberedLine(number).startsWith(line);
}
