import { createElement, Fragment, type ReactNode } from 'react'
import {
  formatBytes,
  formatDay,
  formatDistance,
  formatDuration,
  formatMinute,
  formatMonth,
  formatNumber,
  formatRecent,
} from './format.ts'
import { language, languages, locale } from './languages.ts'

type Translation = string | ((...values: never[]) => unknown) | { readonly [name: string]: Translation }

/** Words that a function makes of a text. */
const made = new WeakMap<object, (text: string) => unknown>()

const rules = new Intl.PluralRules(locale)

/** What compiled messages call. */
const helpers = {
  number: formatNumber,
  bytes: formatBytes,
  duration: formatDuration,
  distance: formatDistance,
  day: formatDay,
  month: formatMonth,
  minute: formatMinute,
  recent: formatRecent,
  /** Chooses by a number: its exact value, or the plural rule of the language. */
  plural: <Value>(count: number, options: { readonly [rule: string]: Value; readonly other: Value }): Value =>
    options[`=${count}`] ?? options[rules.select(count)] ?? options.other,
  /** Chooses by a value. */
  select: <Value>(value: unknown, options: { readonly [value: string]: Value; readonly other: Value }): Value =>
    options[value === '' ? 'empty' : String(value)] ?? options.other,
  /** Joins React nodes. */
  r: (...nodes: ReactNode[]): ReactNode => createElement(Fragment, null, ...nodes),
}

/**
 * The texts of the language of this page. The chunk of a language is loaded before any module with texts runs, so texts can also
 * be constants. If it cannot be loaded, the page is in English.
 */
const translations: Readonly<Record<string, Translation>> =
  (await languages[language].load?.().then(
    chunk => chunk.default(helpers),
    () => null,
  )) ?? {}

/** Whether the texts of the page are the English ones, as those of the server are. */
export const isEnglish = Object.keys(translations).length === 0

/** Declares the English texts of a part of the console, and returns them in the language of the page. */
export function catalog<const Texts extends object>(name: string, english: Texts): Texts {
  return translated(english, translations[name]) as Texts
}

/** A text that nobody has translated yet is shown in English. */
function translated(english: unknown, translation: Translation | undefined): unknown {
  if (translation === undefined) return english
  if (Array.isArray(english) && typeof translation === 'object') {
    return english.map((text, index) => translated(text, translation[index]))
  }
  if (typeof english === 'object' && english !== null && typeof translation === 'object') {
    return Object.fromEntries(
      Object.entries(english).map(([name, text]) => [name, translated(text, translation[name])]),
    )
  }
  const make = typeof english === 'function' ? made.get(english) : undefined
  return make && typeof translation === 'string' ? make(translation) : translation
}

/** Makes words of a text, in each language: the catalog has the text alone. */
export function reworded<Words extends object>(text: string, make: (text: string) => Words): Words {
  const words = make(text)
  made.set(words, make)
  return words
}
