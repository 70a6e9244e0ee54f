/** How a workspace looks on the pages that people see without an account: its logo, a color and a line of text. */
import { hash } from 'node:crypto'
import type { LogoType } from '../../db/schema.ts'
import type { Logo } from '../../db/workspaces.ts'
import { AppError } from '../../errors.ts'

/** UTF-16 code units. */
export const maxBrandText = 200
/** Bytes. */
export const maxLogo = 100 * 1024

export interface BrandingInput {
  /** Empty for the color of the product. */
  brandColor?: string | null | undefined
  brandText?: string | null | undefined
  /** The file in base64; empty for none. */
  logo?: string | null | undefined
}

const color = /^#[0-9a-f]{6}$/
const base64 = /^[A-Za-z0-9+/]+={0,2}$/
/** Control characters, line breaks, and characters that change the direction of the text around them. */
const unsafe = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u

/** Parses the settings that the input gives. @throws INVALID_INPUT */
export function parseBranding({ brandColor, brandText, logo }: BrandingInput) {
  return {
    ...(brandColor != null && { brandColor: brandColor === '' ? null : parseColor(brandColor) }),
    ...(brandText != null && { brandText: parseLine(brandText) }),
    ...(logo != null && { logo: logo === '' ? null : parseLogo(logo) }),
  }
}

function parseColor(text: string): string {
  const lower = text.length === 7 ? text.toLowerCase() : ''
  if (color.test(lower)) return lower
  throw new AppError('INVALID_INPUT', 'A color is "#" and six hexadecimal digits, such as "#2f55d4".')
}

function parseLine(text: string): string {
  const line = text.trim()
  if (line.length <= maxBrandText && !unsafe.test(line) && line.isWellFormed()) return line
  throw new AppError(
    'INVALID_INPUT',
    `The text is one line of at most ${maxBrandText} characters, without any that change the direction of text.`,
  )
}

/** Accepts pictures that cannot run scripts: no SVG. */
function parseLogo(text: string): Logo & { version: string } {
  if (text.length <= Math.ceil(maxLogo / 3) * 4 && base64.test(text)) {
    const image = Buffer.from(text, 'base64')
    const type = typeOf(image)
    if (type !== null && image.length <= maxLogo) return { type, image, version: hash('sha256', image).slice(0, 16) }
  }
  const message = `A logo is a PNG, JPEG or WebP file of at most ${maxLogo / 1024} KiB, in base64.`
  throw new AppError('INVALID_INPUT', message)
}

/** Returns the type that the first bytes of a picture state; null for any other file. */
function typeOf(image: Buffer): LogoType | null {
  const start = image.subarray(0, 12).toString('latin1')
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  return start.startsWith('RIFF') && start.endsWith('WEBP') ? 'image/webp' : null
}
