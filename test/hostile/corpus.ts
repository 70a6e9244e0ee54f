/** Names and addresses that could be misread. Paths that lead outside a base path are in `test/matrix/areas.ts`. */
import fc from 'fast-check'
import type { Traits } from '../../adapters/contract.ts'
import { nameRules } from '../../adapters/name-rules.ts'
import { isReserved } from '../matrix/model.ts'

const long = (bytes: number) => 'n'.repeat(bytes)

/** Names that a client gives to new entries. */
export const names: readonly string[] = [
  // Windows: separators, drives, devices, streams, and trailing characters that it drops.
  '..\\x',
  '..\\..\\canary-documents\\seed.txt',
  'a\\b',
  '\\\\server\\share',
  'C:',
  'C:x',
  'C:\\x',
  'CON',
  'con.txt',
  'NUL',
  'COM1',
  'LPT9.log',
  'AUX.',
  'x.',
  'x...',
  'x ',
  ' x',
  'x::$DATA',
  'x:stream:$DATA',
  'x:y',
  'PROGRA~1',
  'x*?<>|"',
  // Dot segments and similar names.
  '.',
  '..',
  '...',
  '....',
  '. ',
  '. .',
  '.. ',
  '..;',
  '..\u200b',
  '\u200b..',
  '\u2024\u2024',
  '\u2025',
  '\uff0e',
  '\uff0e\uff0e',
  '\u201b\uff0e\uff0e',
  '\uff0e\uff0e\uff0fx',
  '..\uff0fx',
  '..\u2215x',
  '..\u2044x',
  '..\u29f8x',
  '..\uff3cx',
  'a\u2400b',
  // Percent-encoding: once, twice, malformed.
  '%2e%2e',
  '.%2e',
  '%2e',
  '%252e%252e',
  '%25252e',
  '..%2fx',
  '..%252fx',
  '..%5cx',
  '%2fetc%2fpasswd',
  '%00',
  'x%00.png',
  '%c0%ae%c0%ae',
  '..%c0%afx',
  '%u002e%u002e',
  '%uff0e%uff0e',
  '&#46;&#46;&#47;',
  '100%',
  '%',
  '%zz',
  '%0d%0aX-Injected: 1',
  '+',
  'a+b c',
  'a?b=c&path=..%2fcanary-documents%2fseed.txt#d',
  'a;b=c',
  // Look-alikes, case, normal forms, text direction.
  'Seed.txt',
  'SEED.TXT',
  'seed.txt\u200b',
  's\u0435ed.txt',
  '\u00e9',
  'e\u0301',
  '\u212b',
  '\u00c5',
  'A\u030a',
  '\ufb01le',
  '\u0130',
  '\u0131',
  '\u00df',
  'SS',
  '\u202etxt.exe',
  '\u2066x\u2069',
  '\ufeffbom',
  '\u2028',
  '\u{1f600}',
  '\u{10ffff}',
  '\uffff',
  // Control characters, header injection.
  'a\0b',
  '\0',
  'a\r\nX-Injected: 1',
  'a\nSet-Cookie: x=1',
  'a\rb',
  'a\tb',
  '\u0007',
  '\u001b[31mred',
  '\u007f',
  '\u0085',
  '\u009b31m',
  'a"; filename="b.exe',
  "a'b",
  "UTF-8''%2e%2e%2fx",
  'a\\"b',
  '=?utf-8?Q?x?=',
  // Markup, shells, spreadsheets, queries, templates.
  '<script>alert(1)<',
  '<img src=x onerror=alert(1)>.html',
  'x.svg',
  'x.html',
  'x.xhtml',
  'javascript:alert(1)',
  '"><b>',
  '&lt;',
  '$(touch x)',
  '`id`',
  '; rm -rf .',
  '| id',
  '-rf',
  '--help',
  '~',
  '~root',
  '$HOME',
  '$\u007bx}',
  '{{7*7}}',
  '*',
  '=1+1',
  '=cmd|calc!A0',
  '+1',
  '-1',
  '@SUM(1)',
  "' OR '1'='1",
  '1; drop table users',
  '__proto__',
  'constructor',
  'toString',
  // Names that the back ends or the server use.
  '.stowage-staging',
  '.STOWAGE-STAGING',
  '.\u017ftowage-staging',
  '.Stowage-Staging.',
  '.stowage-trash',
  '.Stowage-Trash. ',
  '.stowage-trash:x',
  '.\u017ftowage-tra\u017fh',
  '.stow\u00adage-trash',
  '_left-out.txt',
  '.dist',
  '.htaccess',
  '.DS_Store',
  'a (~xxxxxxxx).txt',
  'a (1).txt',
  'Plan.docx',
  // Long names.
  long(255),
  long(256),
  `${long(250)}.html`,
  long(1024),
  long(1025),
  '\u00e9'.repeat(127),
  '\u00e9'.repeat(128),
  '\u{1f600}'.repeat(300),
]

/** Raw values of `path` in an address. `%s` is the base path. */
export const rawPaths: readonly string[] = [
  '%s/%2e%2e/%2e%2e/canary-documents/seed.txt',
  '%s/../../canary-documents/seed.txt',
  '%s%2f..%2f..%2fcanary-documents%2fseed.txt',
  '%s/%252e%252e/%252e%252e/canary-documents/seed.txt',
  '%s/%c0%ae%c0%ae/%c0%ae%c0%ae/canary-documents/seed.txt',
  '%s/%e0%80%ae%e0%80%ae/x',
  '%s/%f0%80%80%ae/x',
  '%s/..%c0%af..%c0%afcanary-documents/seed.txt',
  '%s/%ff%fe',
  '%s/%c3',
  '%s/%ed%a0%80',
  '%s/%ed%a0%80%ed%b0%80',
  '%s/%f4%90%80%80',
  '%s/%00',
  '%s%00/canary-documents/seed.txt',
  '%s/x%00.png',
  '%s/x%0d%0aX-Injected:%201',
  '%s/%5c..%5c..%5ccanary-documents%5cseed.txt',
  '%s/%u002e%u002e/x',
  '%s/%',
  '%s/%zz',
  '%s/%2',
  '%s/seed.txt&path=/canary-documents/seed.txt',
  '/canary-documents/seed.txt&path=%s/seed.txt',
  '%s/seed.txt&path[]=/canary-documents/seed.txt',
  '%s/seed.txt&Path=/canary-documents/seed.txt',
  '%s/seed.txt;path=/canary-documents/seed.txt',
  '%s/seed.txt#/../../canary-documents/seed.txt',
  '%s-old/seed.txt',
  '%s%2dold/seed.txt',
  '%s%20/seed.txt',
  '+%s/seed.txt',
  '%s/+',
  '%efbc8f%s/seed.txt',
]

/** Generates paths from separators, dots, encodings and existing names. */
export const anyPath: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      {
        weight: 3,
        arbitrary: fc.constantFrom(
          '/',
          '/',
          '/',
          '..',
          '.',
          '\\',
          '%2f',
          '%2e',
          '%5c',
          '%25',
          '\0',
          '\r\n',
          ' ',
          ':',
          '\uff0e',
          '\uff0f',
          'team',
          'backups',
          'backups-old',
          'canary-documents',
          'seed.txt',
          'canary-beside',
          'deep',
          '\ud800',
        ),
      },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 3 }) },
    ),
    { minLength: 1, maxLength: 14 },
  )
  .chain(parts => fc.constantFrom('', '/', '/team/backups/', '/team/backups').map(start => start + parts.join('')))

/** Generates names from the same pieces. */
export const anyName: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '..',
        '.',
        '\\',
        '%2f',
        '%2e',
        '%',
        '\uff0e',
        '\uff0f',
        '\u201b',
        '\u2400',
        ':',
        ' ',
        '"',
        '<',
        "'",
      ),
      fc.string({ unit: 'grapheme', maxLength: 4 }),
      fc.string({ unit: 'binary', maxLength: 3 }),
    ),
    { minLength: 1, maxLength: 8 },
  )
  .map(parts => parts.join(''))
  .filter(name => name !== '')

/** Names that another client can create in every back end, including those that Stowage refuses to create. */
export const namesOthersGive = names.filter(
  name =>
    !name.includes('\0') &&
    Buffer.byteLength(name) <= 255 &&
    !/^(?:\.\.?|\.stowage-staging)$/iu.test(name) &&
    !isReserved(name),
)

/** Returns those names that a back end with these traits can have. */
export function namesAllowedBy(traits: Partial<Traits>): string[] {
  const faultOf = nameRules({ emptyDirectories: true, ...traits })
  return namesOthersGive.filter(name => !faultOf?.(name))
}

/** Returns the name as it is listed where the traits forbid backslashes, although the server of the test stores them. */
export function withoutBackslash(name: string): string | undefined {
  return name.includes('\\') ? undefined : name
}
