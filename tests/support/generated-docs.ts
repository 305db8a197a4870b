import { readFileSync } from 'node:fs';
import { ALL_REASONS, ANSWERS } from '../../adapters/http/server/http-refusal.ts';
import { generateAuditSchema } from './generate-audit-schema.ts';

/** The parts of pages that are generated from the code, by page and name. */
const PARTS: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  'docs/reasons.md': { reasons: reasonsTable },
};

/** Files that are generated as a whole. */
const WHOLE: Readonly<Record<string, () => string>> = { 'docs/audit.schema.json': generateAuditSchema };

/** Each file that is generated or has generated parts, as it is and as the code says that it should be. */
export function generatedPages(): readonly { file: string; current: string; generated: string }[] {
  const whole = Object.entries(WHOLE).map(([file, generate]) => {
    return { file, current: readFileSync(file, 'utf8'), generated: generate() };
  });
  const inParts = Object.entries(PARTS).map(([file, parts]) => {
    const current = readFileSync(file, 'utf8');
    const generated = Object.entries(parts).reduce((text, [name, generate]) => {
      const begin = `<!-- npm run docs: ${name} -->\n`;
      const [before, after] = [text.indexOf(begin) + begin.length, text.indexOf('<!-- end -->', text.indexOf(begin))];
      if (!text.includes(begin) || after === -1) throw new Error(`${file} has no place for ${name}`);
      return `${text.slice(0, before)}\n${generate()}\n\n${text.slice(after)}`;
    }, current);
    return { file, current, generated };
  });
  return [...whole, ...inParts];
}

function reasonsTable(): string {
  const rows = Object.entries(ALL_REASONS).map(([reason, { code, description, meaning }]) => {
    const { status, error } = ANSWERS[code];
    return `| \`${reason}\` | ${status} \`${error}\`${description === undefined ? '' : ` "${description}"`} | ${meaning} |`;
  });
  return ['| reason | answer | what it means, and what to do |', '|---|---|---|', ...rows].join('\n');
}
