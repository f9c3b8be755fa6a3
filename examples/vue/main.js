import { createApp } from "vue";
import Login from "./Login.vue";

createApp(Login).mount("main");
