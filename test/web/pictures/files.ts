/** Files of a small studio, for the pictures of the console: photos, documents, music, a video and a book. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import sharp, { type Sharp } from 'sharp'
import { findProgram } from '../../servers/programs.ts'
import { docx, pdf, pptx, xlsx, zipOf } from '../../support/documents.ts'
import { songWithCover } from '../../support/media.ts'

type Files = Record<string, string | Buffer>

const skies = [
  ['#7fb2e5', '#f7e3c4'],
  ['#f2a65a', '#fbe4b3'],
  ['#30475e', '#e8a87c'],
  ['#9cc9e8', '#eef6f8'],
  ['#5b4b8a', '#f3b0a3'],
  ['#3a8fb7', '#cfeaf0'],
  ['#e27d60', '#f8d9a0'],
  ['#6e8fb5', '#dfe7ee'],
] as const
const hills = ['#4f6d5c', '#6b7f4f', '#3d5a6c', '#8a7f5a', '#57547a', '#2f6f73'] as const

/** A landscape of its own for each index: a sky, a sun, and hills or the sea in front of each other. */
export function landscape(index: number, width = 960, height = 640): Sharp {
  const [top, low] = skies[index % skies.length] ?? skies[0]
  const color = hills[(index * 5) % hills.length] ?? hills[0]
  const random = (salt: number) => (((((index + 1) * 7919 + salt * 104_729) % 1009) + 1009) % 1009) / 1009
  const horizon = height * (0.5 + random(1) * 0.14)
  const ridge = (layer: number) => {
    const base = horizon + (height - horizon) * layer * 0.3
    const points = Array.from({ length: 7 }, (_, step) => {
      const rise = height * (0.24 - layer * 0.05) * random(step + layer * 11)
      return [(width * step) / 6, base - rise] as const
    })
    const line = points.slice(1).map(([x, y], step) => {
      const [fromX, fromY] = points[step] ?? [0, base]
      const middle = (fromX + x) / 2
      return `C${middle} ${fromY} ${middle} ${y} ${x} ${y}`
    })
    const shade = 1 - layer * 0.24
    return `<path d="M0 ${points[0]?.[1] ?? base}${line.join('')}V${height}H0z" fill="${color}" style="filter:brightness(${shade})" opacity="${0.55 + layer * 0.15}"/>`
  }
  const sea = `<rect y="${horizon}" width="${width}" height="${height}" fill="${top}"/><rect y="${horizon}" width="${width}" height="${height}" fill="#1c5f86" opacity="0.78"/>`
  const waves = Array.from({ length: 9 }, (_, wave) => {
    const y = horizon + 14 + wave * wave * (height / 190)
    return `<path d="M${random(wave) * width * 0.5} ${y}q${width * 0.12} ${-4 - wave} ${width * 0.24} 0t${width * 0.24} 0" stroke="#fff" stroke-opacity="0.35" stroke-width="${1 + wave / 3}" fill="none"/>`
  })
  const isSea = index % 3 === 1
  const front = isSea ? `${ridge(0)}${sea}${waves.join('')}` : [0, 1, 2, 3].map(ridge).join('')
  const trees = Array.from({ length: isSea ? 0 : 14 }, (_, tree) => {
    const x = random(tree + 40) * width
    const y = height * (0.84 + random(tree + 60) * 0.12)
    const size = height * (0.05 + random(tree + 80) * 0.06)
    return `<path d="M${x} ${y}l${size / 3} 0l${-size / 3} ${-size}l${-size / 3} ${size}z" fill="#16281f" opacity="0.7"/>`
  })
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><defs><linearGradient id="s" x2="0" y2="1"><stop stop-color="${top}"/><stop offset="1" stop-color="${low}"/></linearGradient></defs><rect width="${width}" height="${height}" fill="url(#s)"/><circle cx="${width * (0.15 + random(3) * 0.7)}" cy="${height * (0.16 + random(4) * 0.2)}" r="${height * 0.06}" fill="#fff4d6"/>${front}${trees.join('')}</svg>`
  return sharp(Buffer.from(svg))
}

const jpeg = (index: number, width?: number, height?: number) =>
  landscape(index, width, height).jpeg({ quality: 82 }).toBuffer()

export const photoCount = 48
export const photoName = (index: number) => `IMG_${String(4000 + index)}.jpg`

/** Photos in the shapes of cameras and phones. */
export async function photos(): Promise<Files> {
  const shapes = [
    [900, 600],
    [600, 900],
    [1200, 600],
    [800, 800],
    [800, 600],
  ] as const
  const made = Array.from({ length: photoCount }, async (_, index) => {
    const [width, height] = shapes[(index * 7) % shapes.length] ?? shapes[0]
    return [photoName(index), await jpeg(index, width, height)] as const
  })
  return Object.fromEntries(await Promise.all(made))
}

const invoice = [
  'Harbor Studio',
  'Invoice 2026-11',
  '',
  'Prints of the harbor, 40 x 60 cm        12 x  48.00      576.00',
  'Frames, oak                             12 x  31.00      372.00',
  'Delivery                                                  24.00',
  '',
  'Total                                                    972.00',
  '',
  'Thank you. Please pay within 30 days.',
]

/** What everybody in the team works on. */
export async function teamFiles(): Promise<Files> {
  const video = await film()
  return {
    'Photos/harbor.jpg': await jpeg(1),
    'Photos/dunes.jpg': await jpeg(3),
    'Photos/ridge.jpg': await jpeg(4),
    'Photos/coast.jpg': await jpeg(7),
    'Projects/Atlas/plan.md': '# Atlas\n\n- Collect requirements\n- Build the first version\n- Ship it\n',
    'Projects/Atlas/budget.csv': 'item,cost\ndesign,1200\nbuild,4800\nprint,960\n',
    'Projects/Atlas/sketch.jpg': await jpeg(10),
    'Projects/Borealis/readme.md': '# Borealis\n\nThe exhibition of the northern coast.\n',
    'Reports/plan.md':
      '# Plan of the exhibition\n\nWe show **forty prints** in three rooms.\n\n1. Choose the prints\n2. Order the frames\n3. Hang them by Friday\n\n| Room | Prints | Frames |\n|---|---:|---|\n| North | 16 | oak |\n| Harbor | 14 | oak |\n| Night | 10 | black |\n\n> The opening is on the 4th of December at six.\n',
    'Reports/numbers.csv': `month;visitors;prints sold\n${['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October'].map((month, index) => `${month};${310 + ((index * 97) % 240)};${12 + ((index * 7) % 19)}`).join('\n')}\n`,
    'Reports/Annual report.pdf': pdf([
      ['Annual report', '', ...invoice],
      ['Outlook', '', 'More prints.'],
    ]),
    'Brand fonts.zip': zipOf({ 'Regular.ttf': 'x'.repeat(900), 'Bold.ttf': 'y'.repeat(900), 'license.txt': 'free' }),
    'Budget 2027.xlsx': xlsx(['Rent', 'Frames', 'Paper'], 'Total', [12_000, 4_800, 2_100]),
    'Contract 4711.pdf': pdf([['Contract 4711', '', 'Between Harbor Studio and the Port Museum.', '', ...invoice]]),
    'Interview.mp3': songWithCover(await landscape(5, 400, 400).png().toBuffer()),
    'Invoice 2026-11.pdf': pdf([invoice]),
    'Kickoff.pptx': pptx([
      'Exhibition of the northern coast',
      'Three rooms, forty prints',
      'Opening on the 4th of December',
    ]),
    'Offer Meyer.docx': docx(['Dear Ms. Meyer,', 'thank you for your visit. We are glad to offer twelve prints.']),
    'Release video.mp4': video ?? 'x',
    'Team handbook.md': `# Handbook\n\n${'Welcome to the studio. Keep originals in the archive and prints in the team disk. '.repeat(30)}\n`,
    'deploy.ts':
      "/** Puts the exhibition on the web. */\nexport const regions = ['eu', 'us'] as const\n\ntype Region = (typeof regions)[number]\n\nexport async function deploy(region: Region): Promise<void> {\n  const url = new URL('/deploy', 'https://' + region + '.example.org')\n  const answer = await fetch(url, { method: 'POST' })\n  if (!answer.ok) throw new Error('The deployment failed: ' + answer.status)\n}\n",
    'notes.txt': 'Call the printer before Friday.\n',
  }
}

/** A short film of a landscape; null without ffmpeg. */
async function film(): Promise<Buffer | null> {
  const ffmpeg = await findProgram('ffmpeg')
  if (ffmpeg === null) return null
  const folder = await mkdtemp(join(tmpdir(), 'stowage-film-'))
  try {
    const [picture, video] = [join(folder, 'a.png'), join(folder, 'a.mp4')]
    await writeFile(picture, await landscape(13, 1280, 720).png().toBuffer())
    const input = ['-v', 'error', '-loop', '1', '-i', picture, '-t', '2', '-r', '5']
    await promisify(execFile)(ffmpeg, [...input, '-pix_fmt', 'yuv420p', '-movflags', '+faststart', video])
    return await readFile(video)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Files for each viewer. */
export async function library(): Promise<Files> {
  const photo = await landscape(1, 1800, 1200)
    .withExif({
      IFD0: { Make: 'Acme', Model: 'Alpha 7' },
      IFD2: {
        FNumber: '28/10',
        ExposureTime: '1/250',
        ISOSpeedRatings: '200',
        DateTimeOriginal: '2026:07:01 12:30:00',
      },
      IFD3: {
        GPSLatitudeRef: 'N',
        GPSLatitude: '52/1 31/1 12/1',
        GPSLongitudeRef: 'E',
        GPSLongitude: '13/1 24/1 18/1',
      },
    })
    .jpeg()
    .toBuffer()
  const cover = (index: number) => landscape(index, 400, 400).png().toBuffer()
  const sentences = [
    'The harbor was full of boats that week.',
    'Each morning, the light came over the northern mole first.',
    'We made forty pictures and kept the ones with wind in them.',
    'The museum has chosen sixteen for the first room.',
  ]
  const lines = (chapter: number) => [
    `Chapter ${chapter}`,
    '',
    ...Array.from({ length: 40 }, (_, line) => sentences[(line + chapter) % sentences.length] ?? ''),
  ]
  const xhtml = (body: string) =>
    `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>${body}</body></html>`
  const paragraph = `<p>${sentences.join(' ')}</p>`
  return {
    'harbor.jpg': photo,
    'harbor 2.jpg': await jpeg(4, 1800, 1200),
    'report.pdf': pdf(Array.from({ length: 12 }, (_, index) => lines(index + 1))),
    '01 Waves.mp3': songWithCover(await cover(1)),
    '02 Tide.mp3': songWithCover(await cover(4)),
    '03 Wind.mp3': songWithCover(await cover(7)),
    'project.zip': zipOf({
      'README.md': '# Project',
      'src/index.ts': 'export {}',
      'src/app.ts': 'export {}',
      'pictures/plan.png': await cover(10),
      'pictures/harbor.png': await cover(13),
    }),
    'sea.epub': zipOf({
      'META-INF/container.xml':
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>',
      'book.opf':
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The sea</dc:title><dc:creator>Mona Berg</dc:creator></metadata><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>',
      'a.xhtml': xhtml(`<h1>The harbor</h1>${paragraph.repeat(6)}`),
    }),
    'sans.ttf': await readFile(
      createRequire(import.meta.url).resolve('pdfjs-dist/standard_fonts/LiberationSans-Regular.ttf'),
    ),
    'letter.rtf':
      '{\\rtf1\\ansi {\\b Dear harbor office}\\par\\par Thank you for the letter of May. We would like to hang twelve prints in the hall of the old customs house from the 4th of December.\\par\\par Kind regards\\par Mona Berg\\par}',
    'model.blend': 'x'.repeat(4000),
  }
}
