/** Draws the icons of the installed console from its logo: `node scripts/icons.ts` after a change of web/public/icon.svg. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { root } from './build/folders.ts'

const folder = join(root, 'web/public')
const logo = await readFile(join(folder, 'icon.svg'), 'utf8')
const ground = /fill="(#[0-9a-f]{6})"/.exec(logo)?.[1]
if (ground === undefined) throw new Error('The logo has no ground: give its first shape a fill such as "#2456c9".')

/** The part of the width that a system keeps when it cuts an icon to its own shape: W3C, "Web Application Manifest", "masks". */
const safe = 0.8

/** @param isFull whether the ground fills the whole square, for systems that cut their own corners */
async function draw(name: string, size: number, isFull: boolean): Promise<void> {
  const inner = Math.round(isFull ? size * safe : size)
  const border = Math.round((size - inner) / 2)
  // Pixels per inch. At 72, the picture is as large as its box of 32 pixels.
  const image = sharp(Buffer.from(logo), { density: Math.ceil((72 * inner) / 32) }).resize(inner, inner)
  if (isFull) {
    image.flatten({ background: ground ?? '' }).extend({
      top: border,
      left: border,
      bottom: size - inner - border,
      right: size - inner - border,
      background: ground ?? '',
    })
  }
  await image.png({ palette: true, compressionLevel: 9 }).toFile(join(folder, name))
}

await Promise.all([
  draw('icon-192.png', 192, false),
  draw('icon-512.png', 512, false),
  draw('icon-maskable.png', 512, true),
  draw('apple-touch-icon.png', 180, true),
])
