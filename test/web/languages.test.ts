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
