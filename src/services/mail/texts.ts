/** The texts of emails in the language of their reader. A language is loaded with its first message. */
import { isLanguage, isRightToLeft, type Language } from '../../lib/languages.ts'
import { type Message, parseMessage } from '../../lib/message-format.ts'
import type english from './languages/en.json'

export type TextKey = keyof typeof english

/** The texts of a language, and values in its form. */
export interface MailTexts {
  language: Language
  /** The text of a key with its placeholders filled. */
  text: (key: TextKey, values?: Readonly<Record<string, string | number>>) => string
  /** A time in UTC, because nobody knows where a reader is. */
  time: (time: Date) => string
  /** A number of bytes in decimal units, as the console shows sizes. */
  size: (bytes: number) => string
}

const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const
const symbols = ['bytes', 'KB', 'MB', 'GB', 'TB']

const files: Record<Language, () => Promise<{ default: Readonly<Record<TextKey, string>> }>> = {
  ar: () => import('./languages/ar.json', { with: { type: 'json' } }),
  cs: () => import('./languages/cs.json', { with: { type: 'json' } }),
  de: () => import('./languages/de.json', { with: { type: 'json' } }),
  en: () => import('./languages/en.json', { with: { type: 'json' } }),
  es: () => import('./languages/es.json', { with: { type: 'json' } }),
  fr: () => import('./languages/fr.json', { with: { type: 'json' } }),
  he: () => import('./languages/he.json', { with: { type: 'json' } }),
  hi: () => import('./languages/hi.json', { with: { type: 'json' } }),
  it: () => import('./languages/it.json', { with: { type: 'json' } }),
  ja: () => import('./languages/ja.json', { with: { type: 'json' } }),
  ko: () => import('./languages/ko.json', { with: { type: 'json' } }),
  nl: () => import('./languages/nl.json', { with: { type: 'json' } }),
  pl: () => import('./languages/pl.json', { with: { type: 'json' } }),
  pt: () => import('./languages/pt.json', { with: { type: 'json' } }),
  tr: () => import('./languages/tr.json', { with: { type: 'json' } }),
  uk: () => import('./languages/uk.json', { with: { type: 'json' } }),
  'zh-Hans': () => import('./languages/zh-Hans.json', { with: { type: 'json' } }),
  'zh-Hant': () => import('./languages/zh-Hant.json', { with: { type: 'json' } }),
}

const loaded = new Map<Language, Promise<MailTexts>>()

/** @param tag of a language that this version may not know any more; null for English */
export function mailTexts(tag: string | null): Promise<MailTexts> {
  const language = isLanguage(tag) ? tag : 'en'
  const known = loaded.get(language)
  if (known) return known
  const texts = load(language)
  loaded.set(language, texts)
  // The next email tries again.
  texts.catch(() => loaded.delete(language))
  return texts
}

async function load(language: Language): Promise<MailTexts> {
  const { default: texts } = await files[language]()
  // Day, month and year as in most of the world.
  const locale = language === 'en' ? 'en-GB' : language
  const number = new Intl.NumberFormat(locale)
  const rules = new Intl.PluralRules(locale)
  const time = new Intl.DateTimeFormat(locale, {
    weekday: 'short',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZone: 'UTC',
    timeZoneName: 'short',
  })
  const isolates = isRightToLeft(language)

  function fill(message: Message, values: Readonly<Record<string, string | number>>): string {
    const parts = message.map(part => {
      if (part.kind === 'text') return part.text
      const value = values[part.name] ?? ''
      if (part.kind === 'count') return number.format(Number(value))
      if (part.kind === 'argument') return argument(part.name, String(value))
      if (part.kind === 'tag' || part.type === 'select') throw new Error(`Emails have no ${part.kind} ${part.name}.`)
      const { options } = part
      const option = options.get(`=${value}`) ?? options.get(rules.select(Number(value))) ?? options.get('other')
      return fill(option ?? [], values)
    })
    return parts.join('')
  }

  /** Names keep the direction of their own letters. The characters that do it would belong to an address for some programs. */
  function argument(name: string, value: string): string {
    return isolates && name !== 'url' ? `\u2068${value}\u2069` : value
  }

  return {
    language,
    text: (key, values = {}) => fill(parseMessage(texts[key]), values),
    time: at => time.format(at),
    size(bytes) {
      const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
      const value = bytes / 1000 ** power
      if (language === 'en') return `${Number(value.toFixed(1))} ${symbols[power]}`
      const style = { style: 'unit', unit: units[power] ?? 'byte', maximumFractionDigits: 1 } as const
      return new Intl.NumberFormat(locale, style).format(value)
    },
  }
}
