// oxlint-disable-next-line typescript/triple-slash-reference -- modules of languages exist only in the build
/// <reference path="./compiled.d.ts" />

/** The languages of the console by their tags (BCP 47), with their own names. Each but English is loaded on demand. */
export const languages = {
  en: { name: 'English', load: null },
  cs: { name: 'Čeština', load: () => import('language:cs') },
  de: { name: 'Deutsch', load: () => import('language:de') },
  es: { name: 'Español', load: () => import('language:es') },
  fr: { name: 'Français', load: () => import('language:fr') },
  it: { name: 'Italiano', load: () => import('language:it') },
  nl: { name: 'Nederlands', load: () => import('language:nl') },
  pl: { name: 'Polski', load: () => import('language:pl') },
  pt: { name: 'Português', load: () => import('language:pt') },
  tr: { name: 'Türkçe', load: () => import('language:tr') },
  uk: { name: 'Українська', load: () => import('language:uk') },
  ar: { name: 'العربية', load: () => import('language:ar') },
  he: { name: 'עברית', load: () => import('language:he') },
  hi: { name: 'हिन्दी', load: () => import('language:hi') },
  ja: { name: '日本語', load: () => import('language:ja') },
  ko: { name: '한국어', load: () => import('language:ko') },
  'zh-Hans': { name: '简体中文', load: () => import('language:zh-Hans') },
  'zh-Hant': { name: '繁體中文', load: () => import('language:zh-Hant') },
} as const

export type Language = keyof typeof languages

/** The keys of the languages of the account and of the workspace in the storage of the browser, which knows them before the server responds. */
export const accountKey = 'stowage.language'
export const workspaceKey = 'stowage.workspace-language'
const isPage = 'document' in globalThis
const rightToLeft: ReadonlySet<string> = new Set(['ar', 'he'])

/** The tag of the best language that the console has for a tag of a browser; null if it has none or the tag is not valid. */
export function matchLanguage(tag: string): Language | null {
  const parsed = parseTag(tag)
  if (!parsed) return null
  const { language, region, script } = parsed
  const isTraditional = script === 'Hant' || (script === undefined && ['TW', 'HK', 'MO'].includes(region ?? ''))
  const wanted = language === 'zh' ? (isTraditional ? 'zh-Hant' : 'zh-Hans') : language
  return isLanguage(wanted) ? wanted : null
}

/** Some systems give their browsers names that are no tags, such as "en-US@posix". */
function parseTag(tag: string): Intl.Locale | null {
  try {
    return new Intl.Locale(tag)
  } catch {
    return null
  }
}

function isLanguage(tag: string | null): tag is Language {
  return tag !== null && Object.hasOwn(languages, tag)
}

/** The languages of the browser, in the order of the person. Programs that have no page read English. */
function browserTags(): readonly string[] {
  return isPage ? navigator.languages : ['en']
}

function stored(key: string): Language | null {
  try {
    const tag = isPage ? localStorage.getItem(key) : null
    return isLanguage(tag) ? tag : null
  } catch {
    return null
  }
}

/** The choice of the person comes before that of the browser, and the workspace decides only if the console has none of those. */
function decide(): Language {
  return stored(accountKey) ?? browserTags().map(matchLanguage).find(isLanguage) ?? stored(workspaceKey) ?? 'en'
}

/** The language of this page, until it is loaded again. */
export const language: Language = decide()

/** Keeps a language for the next page of this browser. Returns whether that page is in another language than this one. */
export function keepLanguage(key: typeof accountKey | typeof workspaceKey, tag: string | null): boolean {
  const known = tag === null ? null : matchLanguage(tag)
  try {
    if (known) localStorage.setItem(key, known)
    else localStorage.removeItem(key)
  } catch {
    // The browser allows no storage, so the next page is in its language.
  }
  return decide() !== language
}

/** The tag for dates, numbers and sorting: with the region of the browser, if it reads this language. */
export const locale: string = browserTags().find(tag => matchLanguage(tag) === language) ?? language

/** The direction of the text. */
export const direction = rightToLeft.has(language) ? 'rtl' : 'ltr'

/** 1 where a line of text leads to the right, and -1 where it leads to the left. */
export const lineStep = direction === 'rtl' ? -1 : 1

/** The side of a box at which a line begins, and the one at which it ends. */
export const startOf = ({ left, right }: DOMRect): number => (direction === 'rtl' ? right : left)
export const endOf = ({ left, right }: DOMRect): number => (direction === 'rtl' ? left : right)

/** The keys that lead to the next item of a line and to the one before it. */
export const [nextKey, previousKey] = direction === 'rtl' ? ['ArrowLeft', 'ArrowRight'] : ['ArrowRight', 'ArrowLeft']
