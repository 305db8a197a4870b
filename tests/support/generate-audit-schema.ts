import ts from 'typescript';

type Schema = Readonly<Record<string, unknown>>;

/** The function whose parameter is what an audit line can say. */
const SOURCE = 'adapters/log/json-audit-log.ts';
const WRITER = 'auditLine';

/** What every line has before its event, and what lines of programs have. */
const LINE = {
  log: { const: 'audit' },
  level: { enum: ['info', 'warn', 'error'] },
  time: { type: 'string', format: 'date-time', description: 'When the line was made.' },
  at: { type: 'integer', description: 'When the event takes effect.' },
};
const OPERATOR = {
  os_user: { type: 'string', description: 'The user of the operating system who ran the program.' },
  host: { type: 'string', description: 'The machine that it ran on.' },
};

/** docs/audit.schema.json, from the types of the events and their comments. */
export function generateAuditSchema(): string {
  const { config } = ts.readConfigFile('tsconfig.json', ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, '.');
  const program = ts.createProgram([SOURCE], options);
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(SOURCE);
  const writer = source?.statements.find((node) => ts.isFunctionDeclaration(node) && node.name?.text === WRITER);
  const parameter = writer && ts.isFunctionDeclaration(writer) ? writer.parameters[0] : undefined;
  if (parameter === undefined) throw new Error(`${SOURCE} has no ${WRITER}`);
  const clients: { whole?: Schema; changed?: Schema } = {};

  /** A client, whole or with the fields that a change has changed, is defined once. */
  function schemaOf(type: ts.Type): Schema {
    const name = (type.aliasSymbol ?? type.symbol)?.name;
    if (name === 'RecordedClient') {
      clients.whole ??= { $ref: '#/$defs/client', required: fieldsOf(type).required };
      return { $ref: '#/$defs/whole_client' };
    }
    if (name !== 'Partial') return structureOf(type);
    clients.changed ??= structureOf(type);
    return { $ref: '#/$defs/client' };
  }

  function structureOf(type: ts.Type): Schema {
    if (type.isUnion()) return unionOf(type.types.filter(({ flags }) => !(flags & ts.TypeFlags.Undefined)));
    if (type.isStringLiteral()) return { const: type.value };
    if (type.flags & ts.TypeFlags.String) return { type: 'string' };
    if (type.flags & ts.TypeFlags.Number) return { type: 'integer' };
    if (type.flags & ts.TypeFlags.Null) return { type: 'null' };
    const [item] = checker.isArrayType(type) ? checker.getTypeArguments(type as ts.TypeReference) : [];
    if (item !== undefined) return { type: 'array', items: schemaOf(item) };
    const value = type.getStringIndexType();
    if (value !== undefined) return { type: 'object', additionalProperties: schemaOf(value) };
    const { required, properties } = fieldsOf(type);
    return { type: 'object', ...(required.length > 0 && { required }), additionalProperties: false, properties };
  }

  function unionOf(types: readonly ts.Type[]): Schema {
    const [first, ...others] = types;
    if (first === undefined) throw new Error('a field has no type');
    if (others.length === 0) return schemaOf(first);
    if (types.every((type) => type.isStringLiteral())) return { enum: types.map(({ value }) => value) };
    const schemas = types.map(schemaOf);
    if (schemas.every((schema) => Object.keys(schema).join() === 'type')) {
      return { type: schemas.map(({ type }) => type).toSorted((one) => (one === 'null' ? 1 : -1)) };
    }
    return { anyOf: schemas };
  }

  function fieldsOf(type: ts.Type): {
    readonly required: readonly string[];
    readonly properties: Record<string, Schema>;
  } {
    const required: string[] = [];
    const properties: Record<string, Schema> = {};
    for (const field of type.getProperties()) {
      const fieldType = checker.getTypeOfSymbol(field);
      const undefinable = fieldType.isUnion() && fieldType.types.some(({ flags }) => flags & ts.TypeFlags.Undefined);
      if (!(field.flags & ts.SymbolFlags.Optional) && !undefinable) required.push(field.name);
      const description = ts.displayPartsToString(field.getDocumentationComment(checker)).replaceAll('\n', ' ');
      const limits = field.getJsDocTags(checker).map(({ name, text }) => {
        const limit = ts.displayPartsToString(text);
        return [name, name === 'pattern' ? limit : JSON.parse(limit)];
      });
      properties[field.name] = {
        ...schemaOf(fieldType),
        ...Object.fromEntries(limits),
        ...(description !== '' && { description }),
      };
    }
    return { required, properties };
  }

  const events = checker.getTypeAtLocation(parameter);
  const kinds = (events.isUnion() ? events.types : [events]).map((type) => {
    const { required, properties } = fieldsOf(type);
    const { at: _at, event = {}, ...ofEvent } = properties;
    const base = 'change_id' in properties ? OPERATOR : {};
    const kind = String(event['const'] ?? 'key_event');
    const names = ['event', ...Object.keys(base), ...required.filter((name) => !['at', 'event'].includes(name))];
    return [kind, { required: names, properties: { event, ...base, ...ofEvent } }] as const;
  });
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'One line of the audit log',
    description: 'docs/metrics.md explains each event. Times are in seconds since 1970, unless they are texts.',
    type: 'object',
    required: ['log', 'level', 'time', 'at'],
    properties: LINE,
    oneOf: kinds.map(([kind]) => ({ $ref: `#/$defs/${kind}` })),
    unevaluatedProperties: false,
    $defs: { ...Object.fromEntries(kinds), whole_client: clients.whole, client: clients.changed },
  };
  return `${format(schema)}\n`;
}

/** The formatter of the project keeps a short array on one line. */
export function format(schema: object): string {
  return JSON.stringify(schema, null, 2).replace(/^(.*)\[\n([^[\]{}]*?)\n *(\],?)/gm, (long, start, items, end) => {
    const short = `${start}[${items.trim().replace(/\n\s+/g, ' ')}${end}`;
    return short.length <= 120 ? short : long;
  });
}
