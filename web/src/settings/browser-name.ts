import { texts } from '../texts/settings.tsx'

/** The order decides, because browsers name those that they want to be taken for, too. */
const browsers = [
  [/\bEdgA?\/|\bEdgiOS\//, 'Edge'],
  [/\bOPR\/|\bOpera\b/, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/Chrome\/|\bChromium\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
] as const

const systems = [
  [/\bAndroid\b/, 'Android'],
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
] as const

type Names = readonly (readonly [RegExp, string])[]

const nameIn = (text: string, names: Names) => names.find(([pattern]) => pattern.test(text))?.[1] ?? null

/** Returns the browser and the system that a `User-Agent` names; of a program, its first word. Null if it says nothing. */
function nameOf(userAgent: string): { browser: string; system: string | null } | null {
  const browser = nameIn(userAgent, browsers)
  if (browser !== null) return { browser, system: nameIn(userAgent, systems) }
  const [program = ''] = userAgent.split(/[\s/]/, 1)
  return program === '' ? null : { browser: program, system: null }
}

/** Returns the browser and the system of a `User-Agent` in words. */
export function browserText(userAgent: string | null): string {
  const named = userAgent === null ? null : nameOf(userAgent)
  return named ? texts.browserOn(named.browser, named.system) : texts.unknownBrowser
}
