/**
 * The console. It uses the server through the client in `api/` alone: the address of a page enters, and the page leaves. `app/`
 * composes its parts.
 */
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app/app.tsx'
import { direction, language } from './texts/languages.ts'
import { awaitInstallOffer } from './ui/installation.ts'
import { applyTheme } from './ui/theme.ts'
import './ui/tokens.css'
import './ui/base.css'
import './ui/writing.css'
import './ui/controls.css'
import './ui/overlays.css'

applyTheme()
awaitInstallOffer()
const manifest = document.querySelector<HTMLLinkElement>('link[rel="manifest"]')
if (manifest && language !== 'en') manifest.href += `?language=${language}`
// The browser chooses fonts, voices and quotation marks by the language.
document.documentElement.lang = language
document.documentElement.dir = direction
const root = document.getElementById('root')
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  )
}
