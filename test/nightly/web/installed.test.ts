/** The console as an app of the device. */
import t from 'tap'
import { until } from '../../support/until.ts'
import { button, isGood, startFiles } from '../../web/files.ts'

const files = await startFiles(t)
if (files) {
  const { app, open } = files

  t.test('the browser accepts the manifest, and the menu of the account offers what the browser offers', async t => {
    const page = await open(t, { viewport: { width: 390, height: 844 }, locale: 'de-DE' })
    await page.goto('/files')
    await button(page, 'Konto').waitFor()
    const debuggerOf = await page.context().newCDPSession(page)
    const { url, errors, data = '' } = await debuggerOf.send('Page.getAppManifest')
    t.same([url, errors], [`${app.url}/manifest.webmanifest?language=de`, []])
    t.match(JSON.parse(data), { lang: 'de', share_target: { action: '/upload' } })
    await button(page, 'Konto').click()
    await page.getByRole('menuitem', { name: 'Abmelden' }).waitFor()
    const item = page.getByRole('menuitem', { name: 'App installieren' })
    t.equal(await item.count(), 0, 'a browser that installs nothing')
    await page.keyboard.press('Escape')
    await page.evaluate(() => {
      const offer = Object.assign(new Event('beforeinstallprompt', { cancelable: true }), {
        prompt: async () => {
          document.title = 'asked'
        },
      })
      dispatchEvent(offer)
    })
    await button(page, 'Konto').click()
    await item.waitFor()
    await isGood(t, page)
    await item.click()
    await until(async () => (await page.title()) === 'asked')
    await button(page, 'Konto').click()
    await page.getByRole('menuitem', { name: 'Abmelden' }).waitFor()
    t.equal(await item.count(), 0, 'an offer is used once')
    const barColors = () =>
      page.evaluate(() =>
        [...document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]')]
          .filter(({ media }) => matchMedia(media).matches)
          .map(({ content }) => content),
      )
    t.same(await barColors(), ['#f1f3f8'])
    await page.getByRole('menuitemradio', { name: 'Dunkel' }).click()
    t.same(await barColors(), ['#0e1014'], 'the bars of the browser have the colors of the page')
    t.same(page.faults, [])
  })
}
