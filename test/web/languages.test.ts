/** The languages of the console: their texts, and pages in them. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { compileTranslations, readTranslations } from '../../scripts/languages/compile.ts'
import { readEnglish } from '../../scripts/languages/extract.ts'
import { parseMessage, placeholdersOf } from '../../scripts/languages/message.ts'
import { type Language, languages, matchLanguage } from '../../web/src/texts/languages.ts'
import { inTurn } from '../support/extent.ts'
import { button, dialog, isGood, row, startFiles } from './files.ts'

t.setTimeout(300_000)

const web = join(import.meta.dirname, '../../web')
const english = await readEnglish(join(web, 'src/texts'))
const tags = (Object.keys(languages) as Language[]).filter(tag => tag !== 'en')

t.test('each language has each text once, with the placeholders of the English one', async t => {
  const files = await readdir(join(web, 'languages'))
  t.same(files.toSorted(), tags.map(tag => `${tag}.json`).toSorted(), 'each file is a language of the console')
  for (const tag of tags) {
    const texts = await readTranslations(join(web, 'languages', `${tag}.json`))
    const missing = [...english].filter(([key, { isOptional }]) => !isOptional && texts[key] === undefined)
    t.same(
      missing.map(([key]) => key),
      [],
      `${tag}: no text is missing`,
    )
    t.same(
      Object.keys(texts).filter(key => !english.has(key)),
      [],
      `${tag}: each text is used`,
    )
    const wrong = Object.entries(texts).flatMap(([key, text]) => problemsOf(tag, key, text))
    t.same(wrong, [], `${tag}: the placeholders are those of the English text`)
  }
})

/** The placeholders that a translation invents or drops, and the plural forms that it lacks. */
function problemsOf(tag: string, key: string, text: string): string[] {
  const source = english.get(key)
  if (!source) return []
  const message = parseMessage(text)
  const expected = placeholdersOf(parseMessage(source.message))
  const found = placeholdersOf(message)
  const rules = new Intl.PluralRules(tag).resolvedOptions().pluralCategories
  const plurals = (parts: typeof message): string[] =>
    parts.flatMap(part => {
      if (part.kind !== 'choice') return []
      const keys = [...part.options.keys()].filter(option => !option.startsWith('='))
      const invented =
        part.type === 'plural' ? keys.filter(option => !rules.includes(option as Intl.LDMLPluralRule)) : []
      return [...invented.map(option => `the plural form ${option}`), ...[...part.options.values()].flatMap(plurals)]
    })
  // The count of a plural that has only one form can be left out: "1 more item".
  const dropped = [...expected].filter(name => !found.has(name))
  const invented = [...found].filter(name => !expected.has(name))
  return [...dropped, ...invented, ...plurals(message)].map(what => `${key}: ${what}`)
}

t.test('texts compile into functions that take the arguments of the English ones', async t => {
  const source = (message: string, parameters: string[] | null, names: string[]) => ({
    message,
    parameters,
    placeholders: new Map(names.map(name => [name, name])),
    isOptional: false,
    isRich: false,
  })
  const sources = new Map([
    ['a.plain', source('x', null, [])],
    ['a.count', source('x', ['count'], ['count'])],
    ['a.who', source('x', ['who'], ['who'])],
  ])
  const code = compileTranslations(sources, {
    'a.plain': "`'{'$'{x}'\\",
    'a.count': '{count, plural, =0 {keine} one {# Datei} other {# Dateien}}',
    'a.who': '{who, select, null {Jemand} empty {?} other {{who}}} l’a',
  })
  const { default: make } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
  const rules = new Intl.PluralRules('de')
  const { a } = make({
    number: (value: number) => `<${value}>`,
    plural: (count: number, options: Record<string, string>) => options[`=${count}`] ?? options[rules.select(count)],
    select: (value: unknown, options: Record<string, string>) => options[String(value)] ?? options.other,
  })
  t.equal(a.plain, `\`{$${'{x}'}\\`)
  t.same([0, 1, 2].map(a.count), ['keine', '<1> Datei', '<2> Dateien'])
  t.same([null, 'Anna'].map(a.who), ['Jemand l’a', 'Anna l’a'])
  t.throws(() => compileTranslations(sources, { 'a.who': '{whom}' }), /a\.who has no placeholder whom/)
  for (const wrong of ['{', '{a', '}', '{a, plural, one {x}}', '{a, color}', '<b>x']) {
    t.throws(() => parseMessage(wrong), /Expected/, wrong)
  }
})

t.test('values in texts from right to left keep the direction of their own letters', async t => {
  const source = { message: '{a} {n}', parameters: ['a', 'n'], placeholders: new Map([['a', 'a'], ['n', 'n']]), isOptional: false }
  const make = async (text: string, isRich: boolean) => {
    const code = compileTranslations(new Map([['x.y', { ...source, isRich }]]), { 'x.y': text }, true)
    const { default: compiled } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
    return compiled({ number: String, r: (...nodes: string[]) => nodes.join('') }).x.y('/a', 5)
  }
  t.equal(await make('في {a}: {n, number}', false), 'في \u2068/a\u2069: 5')
  t.equal(await make('في {a}: {n, number}', true), 'في \u2068/a\u2069: 5')
  t.equal(await make('{a}', false), '/a', 'a value alone stays as it is')
})

/** Properties and values that mean a side of the window and not the begin or the end of a line. */
const physical = [
  /(?:^|[\s;{])(?:(?:margin|padding|border|scroll-margin|scroll-padding)-)?(?:left|right)(?:-[a-z]+)?\s*:/,
  /\bborder-(?:top|bottom)-(?:left|right)-radius\s*:/,
  /\b(?:text-align|float|clear|caption-side)\s*:\s*(?:left|right)\b/,
  /\b(?:linear-gradient\(|background-position\s*:|transform-origin\s*:|object-position\s*:)[^;]*\b(?:left|right)\b/,
  /\btranslateX\(/,
  // Four lengths of which the second and the last differ.
  /\b(?:margin|padding|inset|scroll-margin|scroll-padding)\s*:\s*[\w.-]+ ([\w.-]+) [\w.-]+ (?!\1;)[\w.-]+;/,
]
const physicalInCode =
  /\bstyle=\{\{[^}]*\b(?:left|right|(?:margin|padding|border)(?:Left|Right)\w*)\s*:|\.style\.(?:left|right|margin(?:Left|Right)|padding(?:Left|Right))\b/

t.test('styles name the begin and the end of a line, so that a page can be read from right to left', async t => {
  for (const line of ['  left: 0;', '  margin-left: 1rem;', 'p { text-align: right; }', '  inset: 0 auto 0 1rem;']) {
    t.ok(isPhysical(line), line)
  }
  for (const line of ['  inset: auto 0 0;', '  padding: 1px 2px 3px 2px;', '  inset-inline-start: 0;', '  --left: 1;']) {
    t.notOk(isPhysical(line), line)
  }
  const source = join(web, 'src')
  const names = (await readdir(source, { recursive: true })).filter(name => /\.(?:css|tsx?)$/.test(name))
  const found = await Promise.all(
    names.map(async name => {
      const text = await readFile(join(source, name), 'utf8')
      if (!name.endsWith('.css')) return physicalInCode.test(text) && name !== 'files/entry-menu.tsx' ? [name] : []
      const lines = text.split('\n')
      const isExplained = (index: number) => lines[index - 1]?.includes('/* physical:') ?? false
      return lines.flatMap((line, index) => (isPhysical(line) && !isExplained(index) ? [`${name}: ${line.trim()}`] : []))
    }),
  )
  t.same(found.flat(), [])
})

function isPhysical(line: string): boolean {
  return physical.some(pattern => pattern.test(line))
}

t.test('the language of a browser leads to the closest one of the console', async t => {
  t.equal(matchLanguage('de-AT'), 'de')
  t.equal(matchLanguage('en-GB'), 'en')
  t.equal(matchLanguage('eo'), null)
})

t.test('nothing of a language is in the code for all', async t => {
  for (const name of (await readdir(join(web, 'dist/assets'))).filter(file => file.endsWith('.js'))) {
    const code = await readFile(join(web, 'dist/assets', name), 'utf8')
    const texts = code.includes('Neuer Ordner')
    t.equal(texts, code.includes('Zuletzt verwendete Dateien'), `${name}: all of German or nothing`)
  }
})

const files = await startFiles(t)
if (files) {
  const { open, store } = files
  const declared = (page: Page) => page.evaluate(() => [document.documentElement.lang, document.documentElement.dir])

  t.test('people read the language of their browser, or another one that they choose', async t => {
    const { page: address } = await store('sprachen', {
      'Ärger.txt': 'x'.repeat(1500),
      'Zebra.txt': '',
      'Ordner/x': '',
    })
    const page = await open(t, {
      locale: 'de-DE',
      viewport: inTurn([
        { width: 1280, height: 800 },
        { width: 390, height: 844 },
      ])[0] ?? { width: 1280, height: 800 },
    })
    await page.goto(address)
    await row(page, 'Ordner').waitFor()
    t.same(await declared(page), ['de', 'ltr'])
    t.match(await row(page, 'Ärger.txt').textContent(), '1,50')
    const names = await page.locator('.file-rows .cell-name a').allTextContents()
    t.same(names, ['Ordner', 'Ärger.txt', 'Zebra.txt'], 'in the order of German')
    await isGood(t, page)
    await button(page, 'Konto').click()
    await page.getByRole('menuitem', { name: 'Sprache…' }).click()
    await dialog(page)
      .getByRole('button', { name: /Wie der Browser/ })
      .click()
    await Promise.all([page.waitForEvent('load'), page.getByRole('option', { name: 'English', exact: true }).click()])
    await button(page, 'Account').waitFor()
    t.same(await declared(page), ['en', 'ltr'])
  })
}
