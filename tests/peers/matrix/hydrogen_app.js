// Hydrogen, whole, as a page: what its own start file does, with nothing left out but telemetry.
import {
  FeatureSet,
  Platform,
  RootView,
  RootViewModel,
  createNavigation,
  createRouter,
} from "hydrogen-view-sdk";

const at = (name) => new URL(name, location.href).href;

async function start(container) {
  const platform = new Platform({
    container,
    assetPaths: {
      downloadSandbox: at("assets/download-sandbox.html"),
      worker: at("assets/main.js"),
      olm: {
        wasm: at("olm/olm.wasm"),
        legacyBundle: at("olm/olm_legacy.js"),
        wasmBundle: at("olm/olm.js"),
      },
      serviceWorker: at("sw.js"),
    },
    config: {
      defaultHomeServer: new URLSearchParams(location.search).get("homeserver") ?? "",
      themeManifests: [],
      defaultTheme: {},
    },
    options: { development: false },
  });
  const navigation = createNavigation();
  platform.setNavigation(navigation);
  await platform.init();
  const router = createRouter({ navigation, history: platform.history });
  router.attach();
  const features = await FeatureSet.load(platform.settingsStorage);
  const root = new RootViewModel({ platform, urlRouter: router, navigation, features });
  await root.load();
  platform.createAndMountRootView(root);
}

start(document.getElementById("app")).catch((error) => {
  document.body.textContent = String(error?.stack ?? error);
});
