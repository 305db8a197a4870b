import { writeFileSync } from 'node:fs';
import { generatedPages } from '../support/generated-docs.ts';

// `npm run docs` writes the parts of the pages that come from the code.

for (const { file, generated } of generatedPages()) writeFileSync(file, generated);
