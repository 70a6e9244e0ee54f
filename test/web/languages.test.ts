/** The languages of the console: their texts, and pages in them. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import t from 'tap'
import { compileTranslations, readTranslations } from '../../scripts/languages/compile.ts'
import { readEnglish } from '../../scripts/languages/extract.ts'
import { languages as mailLanguages } from '../../src/lib/languages.ts'
import { parseMessage } from '../../src/lib/message-format.ts'
import { mailTexts } from '../../src/services/mail/texts.ts'
import { type Language, languages, matchLanguage } from '../../web/src/texts/languages.ts'
import { atNight, inTurn, isNight } from '../support/extent.ts'
import { visit } from './browser.ts'
import { clippedLabels } from './clipped.ts'
import { button, dialog, isGood, row, startFiles } from './files.ts'
import { pluralProblems, problemsOf } from './translation-problems.ts'

t.setTimeout(isNight ? 1_800_000 : 300_000)

const root = join(import.meta.dirname, '../..')
const web = join(root, 'web')
const english = await readEnglish(join(web, 'src/texts'))
const tags = (Object.keys(languages) as Language[]).filter(tag => tag !== 'en')
// Before the first test, because the file ends when no test runs and none is declared.
const files = await startFiles(t)

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
    const wrong = Object.entries(texts).flatMap(([key, text]) =>
      problemsOf(tag, english.get(key)?.message ?? text, text).map(problem => `${key}: ${problem}`),
    )
    t.same(wrong, [], `${tag}: the placeholders are those of the English text`)
  }
})

/** The pages whose labels have to fit in each language. */
const labelledPages = [
  '/files',
  '/disk',
  '/search?q=a',
  '/recent',
  '/starred',
  '/activity',
  '/shared-with-me',
  '/offline',
  '/upload',
  '/shares',
  '/jobs',
  '/jobs/schedules',
  '/trash',
  '/insight',
  '/connect',
  '/settings/profile',
  '/settings/overview',
  '/settings/security',
  '/settings/notifications',
  '/settings/members',
  '/settings/api-keys',
  '/settings/storages',
  '/settings/groups',
  '/settings/service-accounts',
  '/settings/directories',
  '/settings/single-sign-on',
  '/settings/webhooks',
  '/settings/audit',
  '/settings/workspace',
]

t.test('a plural form that whole numbers need is not left out', async t => {
  const forms = (tag: string, text: string) => pluralProblems(tag, parseMessage(text))
  t.same(forms('pl', '{n, plural, one {# plik} few {# pliki} other {# pliku}}'), ['the plural form many is missing'])
  t.same(forms('he', '{n, plural, =1 {קובץ} =2 {שניים} other {#}}'), [], 'exact numbers are forms, too')
  t.same(forms('fr', '{n, plural, =1 {a} other {b}}'), ['the plural form one is missing'], 'as for zero')
  t.same(forms('ja', '{n, plural, one {a} other {b}}'), ['the plural form one does not exist'])
  t.same(forms('ar', '{n, plural, one {a} two {b} few {c} many {d} other {e}}'), [])
})

t.test('each email has its texts in each language', async t => {
  const folder = join(root, 'src/services/mail')
  const read = async (tag: string): Promise<Record<string, string>> =>
    JSON.parse(await readFile(join(folder, 'languages', `${tag}.json`), 'utf8'))
  const files = await readdir(join(folder, 'languages'))
  t.same(files.toSorted(), mailLanguages.map(tag => `${tag}.json`).toSorted())
  const source = await read('en')
  const senders = ['index.ts', 'mentions.ts', 'notices.ts', 'reset-links.ts', '../push/messages.ts']
  const code = (await Promise.all(senders.map(file => readFile(join(folder, file), 'utf8')))).join()
  const isUsed = (key: string) => {
    const [, group] = /^(notice|push\.job)\.[A-Z_]+$/.exec(key) ?? []
    return code.includes(`'${key}'`) || (group !== undefined && code.includes(`\`${group}.\${`))
  }
  t.same(
    Object.keys(source).filter(key => !isUsed(key)),
    [],
    'each text is used',
  )
  for (const tag of mailLanguages) {
    const texts = await read(tag)
    t.same(Object.keys(texts).toSorted(), Object.keys(source).toSorted(), `${tag}: no text is missing or unknown`)
    const wrong = Object.entries(texts).flatMap(([key, text]) =>
      problemsOf(tag, source[key] ?? '', text).map(problem => `${key}: ${problem}`),
    )
    t.same(wrong, [], `${tag}: the placeholders are those of the English text`)
    const { text, time, size } = await mailTexts(tag)
    const arrived = text('arrivals.text', { count: 3, what: text('quoted', { name: '/a' }), size: size(1500) })
    t.match(arrived, '/a')
    t.notMatch(`${arrived}${time(new Date(0))}`, /[{}]|undefined/)
  }
  const { text, time, size } = await mailTexts('de')
  t.equal(text('arrivals.subject', { count: 1, what: '„x“' }), '1 Datei ist in „x“ angekommen')
  t.match(time(new Date('2026-11-27T08:05:00Z')), /27\. November 2026.*08:05 UTC/)
  t.equal(size(1500), '1,5 kB')
  t.equal((await mailTexts('tlh')).language, 'en', 'a language of a later version is English')
  t.equal((await mailTexts('ar')).text('quoted', { name: '/a' }), '«\u2068/a\u2069»')
  for (const tag of tags) t.ok(mailLanguages.includes(tag), `people can choose ${tag} for their account`)
})

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
  const source = {
    message: '{a} {n}',
    parameters: ['a', 'n'],
    placeholders: new Map([
      ['a', 'a'],
      ['n', 'n'],
    ]),
    isOptional: false,
  }
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
  for (const line of [
    '  inset: auto 0 0;',
    '  padding: 1px 2px 3px 2px;',
    '  inset-inline-start: 0;',
    '  --left: 1;',
  ]) {
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
      return lines.flatMap((line, index) =>
        isPhysical(line) && !isExplained(index) ? [`${name}: ${line.trim()}`] : [],
      )
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
  t.equal(matchLanguage('pt-BR'), 'pt')
  t.equal(matchLanguage('iw'), 'he', 'the tag of Hebrew until 1989')
  t.equal(matchLanguage('zh-CN'), 'zh-Hans')
  t.equal(matchLanguage('zh'), 'zh-Hans')
  t.equal(matchLanguage('zh-TW'), 'zh-Hant')
  t.equal(matchLanguage('eo'), null)
})

t.test('nothing of a language is in the code for all', async t => {
  for (const name of (await readdir(join(web, 'dist/assets'))).filter(file => file.endsWith('.js'))) {
    const code = await readFile(join(web, 'dist/assets', name), 'utf8')
    const texts = code.includes('Neuer Ordner')
    t.equal(texts, code.includes('Zuletzt verwendete Dateien'), `${name}: all of German or nothing`)
  }
})

if (files) {
  const { app, browser, open, owner, store } = files
  const { token } = owner
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

    const other = await open(t, { locale: 'fr-FR' })
    await other.goto(address)
    await button(other, 'Account').waitFor()
    t.same(await declared(other), ['en', 'ltr'], 'the choice holds on the next device')
    await app.ask('mutation { updateProfile(input: { language: null }) { id } }', {}, token)
    await other.reload()
    await button(other, 'Compte').waitFor()
    t.same(await declared(other), ['fr', 'ltr'], 'without it, the browser decides')
  })

  atNight(t, 'a page that is read from right to left is mirrored, and names in it are not', async t => {
    const { page: address } = await store('mirror', { 'a (1).txt': 'x', 'b.txt': 'x', 'קובץ.txt': 'x' })
    const page = await open(t, { locale: inTurn(['ar', 'he-IL'])[0] ?? 'ar' })
    await page.goto(address)
    await row(page, 'b.txt').waitFor()
    t.equal((await declared(page))[1], 'rtl')
    const directions = await page
      .locator('.file-rows .cell-name a')
      .evaluateAll(links => links.map(link => getComputedStyle(link).direction))
    t.same(directions.toSorted(), ['ltr', 'ltr', 'rtl'], 'each name has the direction of its letters')
    const side = await page
      .locator('.branch-name')
      .first()
      .evaluate(name => getComputedStyle(name).textAlign)
    t.equal(side, 'right', 'at the side of the page')
    const middle = async (at: Locator) => {
      const box = await at.boundingBox()
      return (box?.x ?? 0) + (box?.width ?? 0) / 2
    }
    const first = (selector: string) => middle(page.locator(selector).first())
    t.ok((await first('.file-row .cell-name')) > (await first('.file-row .cell-size')), 'columns begin at the right')
    t.ok((await first('.frame-nav')) > (await first('#content')), 'so does the navigation')
    await page.evaluate(() => localStorage.setItem('stowage.view', 'tiles'))
    await page.reload()
    await row(page, 'b.txt').waitFor()
    t.ok((await middle(row(page, 'a (1).txt'))) > (await middle(row(page, 'b.txt'))), 'so do tiles')
    const isCut = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
    t.notOk(isCut, 'nothing leaves the window')
    await isGood(t, page)
  })

  for (const tag of tags) {
    atNight(t, `labels fit in ${tag}`, async t => {
      const { page: disk } = await store(`labels ${tag}`, { 'a.txt': 'x', 'Folder/b.txt': 'x' })
      const widths = [
        { width: 1280, height: 800 },
        { width: 390, height: 844 },
      ]
      for (const viewport of widths) {
        const page = await open(t, { locale: tag, viewport })
        const fits = async (what: string) =>
          t.same(await clippedLabels(page), [], `${what} at ${viewport.width} pixels`)
        for (const address of labelledPages) {
          await page.goto(address === '/disk' ? disk : address)
          await page.locator('main :is(h1, [role="grid"])').first().waitFor()
          await page.locator('.loading').first().waitFor({ state: 'detached' })
          await fits(address)
        }
        await page.locator('.avatar-button').click()
        await page.getByRole('menu').waitFor()
        await fits('the menu of the account')
        await page.keyboard.press('Escape')
        await page.goto(disk)
        await page.getByRole('checkbox').nth(1).click()
        await fits('a selection')
        await page.keyboard.press('Delete')
        await dialog(page).waitFor()
        await fits('the question before a deletion')
        await page.context().close()
      }
    })
  }

  atNight(
    t,
    'visitors read the language of their browser or, if the console does not have it, of the workspace',
    async t => {
      const set = (language: string) =>
        app.ask(
          'mutation ($language: String) { updateWorkspace(input: { language: $language }) { id } }',
          { language },
          token,
        )
      await set('de')
      const page = await visit(browser, app, { locale: 'eo' })
      await page.goto('/sign-in')
      await page.getByRole('button', { name: 'Anmelden', exact: true }).waitFor()
      t.same(await declared(page), ['de', 'ltr'])
      const french = await visit(browser, app, { locale: 'fr-FR' })
      await french.goto('/sign-in')
      await french.getByRole('button', { name: 'Se connecter', exact: true }).waitFor()
      await set('')
      await Promise.all([page, french].map(each => each.context().close()))
    },
  )
}
