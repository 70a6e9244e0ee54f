/** The pictures of the console: no page is forgotten, and the guides show those that they have. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { pages } from '../../src/endpoints/console/addresses.ts'
import { guidePictures, mostBytes } from './pictures/guide.ts'
import { picturedPages } from './pictures/pages.ts'
import { samplePlaces } from './pictures/world.ts'

const root = join(import.meta.dirname, '../..')

/** The paths of all pictures. */
const pictured = Object.values(picturedPages).map(([path]) => {
  const address = typeof path === 'string' ? path : path(samplePlaces)
  return new URL(address, 'http://localhost').pathname
})

const isPictured = (pattern: string) => {
  const path = pattern.replace(/:\w+/g, '[^/]+').replace(/\/?\*$/, '(?:/.*)?')
  const expression = new RegExp(`^${path}$`)
  return pictured.some(each => expression.test(each))
}

t.test('there is a picture of every page', async t => {
  t.same(
    pages.filter(page => !isPictured(page)),
    [],
    'of every address that the server knows',
  )
  const source = await readFile(join(root, 'web/src/app/routes.tsx'), 'utf8')
  const routes = [...source.matchAll(/path: '([^']+)',?\s*(lazy|element|errorElement)/g)]
  t.ok(routes.length > 30)
  const shown = routes.filter(([, path, kind]) => path !== '*' && path !== '/design' && kind !== 'element')
  const forgotten = shown.flatMap(([, path = '']) => {
    const isPage = path.startsWith('/') ? isPictured(path) : pictured.some(each => each.endsWith(`/${path}`))
    return isPage ? [] : [path]
  })
  t.same(forgotten, [], 'of every route: add it to test/web/pictures/pages.ts')
})

t.test('the guides show each of their pictures, which are small', async t => {
  const images = join(root, 'docs/images')
  const names = (await readdir(images)).toSorted()
  t.same(names, guidePictures.map(({ image }) => image).toSorted())
  const known = guidePictures.map(({ picture }) => picture.slice(picture.indexOf('/') + 1))
  t.same(
    known.filter(name => !Object.hasOwn(picturedPages, name)),
    [],
  )
  const sizes = await Promise.all(names.map(async name => (await stat(join(images, name))).size))
  t.ok(Math.max(...sizes) <= mostBytes.image, `${Math.max(...sizes)} bytes`)
  const all = sizes.reduce((sum, size) => sum + size, 0)
  t.ok(all <= mostBytes.all, `${all} bytes`)
  const guides = (await readdir(join(root, 'docs'))).filter(name => name.endsWith('.md'))
  const texts = await Promise.all(
    ['README.md', ...guides.map(name => `docs/${name}`)].map(name => readFile(join(root, name), 'utf8')),
  )
  const shown = new Set(
    texts.flatMap(text => [...text.matchAll(/!\[[^\]]{10,}\]\((?:docs\/)?images\/([^)]+)\)/g)].map(([, name]) => name)),
  )
  t.same(
    names.filter(name => !shown.has(name)),
    [],
    'with a text that says what it shows',
  )
})
